import type { DatabaseFailure } from "../../../coder/operator-access/failure.ts";

/** Why the operator has no token that works. */
export type AccessFailure =
  | DatabaseFailure
  | {
      readonly kind: /** The spec does not say where the database is. */
        | "noConnectionUrl"
        /** The connection URL comes from an object that is missing, or lacks it. */
        | "secretMissing"
        | "configMapMissing"
        /** coderd refuses the token that its database has. */
        | "tokenRejected";
      readonly message: string;
    };

const databaseReasons: Readonly<Record<DatabaseFailure["kind"], string>> = {
  invalidUrl: "InvalidConnectionURL",
  unreachable: "DatabaseUnreachable",
  authenticationFailed: "DatabaseAuthenticationFailed",
  databaseMissing: "DatabaseMissing",
  tlsFailed: "DatabaseTLSFailed",
  schemaMissing: "NotMigrated",
  schemaUnsupported: "SchemaUnsupported",
  permissionDenied: "DatabasePermissionDenied",
  timeout: "DatabaseTimeout",
  accountTaken: "AccountTaken",
  transient: "DatabaseError",
};

const reasons: Readonly<Record<AccessFailure["kind"], string>> = {
  ...databaseReasons,
  noConnectionUrl: "NoConnectionURL",
  secretMissing: "SecretMissing",
  configMapMissing: "ConfigMapMissing",
  tokenRejected: "TokenRejected",
};

export function accessReason({ kind }: AccessFailure): string {
  return reasons[kind];
}

/** Whether a reason of the access condition speaks of the database, as only a token of the operator's own needs it. */
export function isAboutDatabase(reason: string): boolean {
  return Object.values(databaseReasons).includes(reason);
}
