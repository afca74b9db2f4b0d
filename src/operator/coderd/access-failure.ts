import type { DatabaseFailure } from "../../coder/operator-access/failure.ts";
import { NOT_MIGRATED } from "../conditions.ts";

/** Why the operator has no token that works. */
export type AccessFailure =
  | DatabaseFailure
  | {
      readonly kind: /** The spec does not say where the database is. */
        | "noConnectionUrl"
        /** coderd logs in with its cloud identity, which the operator does not have. */
        | "cloudIdentity"
        /** The connection URL comes from an object that is missing, or lacks it. */
        | "secretMissing"
        | "configMapMissing"
        /** coderd rejects the token that its database contains. */
        | "tokenRejected";
      readonly message: string;
    };

const databaseReasons: Readonly<Record<DatabaseFailure["kind"], string>> = {
  invalidUrl: "InvalidConnectionURL",
  unreachable: "DatabaseUnreachable",
  authenticationFailed: "DatabaseAuthenticationFailed",
  databaseMissing: "DatabaseMissing",
  tlsFailed: "DatabaseTLSFailed",
  schemaMissing: NOT_MIGRATED,
  schemaUnsupported: "SchemaUnsupported",
  permissionDenied: "DatabasePermissionDenied",
  timeout: "DatabaseTimeout",
  accountTaken: "AccountTaken",
  transient: "DatabaseError",
};

const reasons: Readonly<Record<AccessFailure["kind"], string>> = {
  ...databaseReasons,
  noConnectionUrl: "NoConnectionURL",
  cloudIdentity: "DatabaseUsesCloudIdentity",
  secretMissing: "SecretMissing",
  configMapMissing: "ConfigMapMissing",
  tokenRejected: "TokenRejected",
};

export function accessReason({ kind }: AccessFailure): string {
  return reasons[kind];
}

/** Whether there is no database that the operator could log in to, so that only another spec helps. */
export function isWithoutDatabase({ kind }: AccessFailure): boolean {
  return kind === "noConnectionUrl" || kind === "cloudIdentity";
}

/** Whether a reason of the access condition speaks of the database, as only a token of the operator's own needs it. */
export function isAboutDatabase(reason: string): boolean {
  return Object.values(databaseReasons).includes(reason);
}
