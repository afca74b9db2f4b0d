import type { DatabaseFailure } from "../../coder/operator-access/failure.ts";
import { NOT_MIGRATED } from "../conditions.ts";

/** Why the operator has no valid token. */
export type AccessFailure =
  | DatabaseFailure
  | {
      readonly kind: /** The spec does not contain the connection URL. */
        | "noConnectionUrl"
        /** coderd logs in with its cloud identity, which the operator does not have. */
        | "cloudIdentity"
        /** The connection URL refers to an object or a key that does not exist. */
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

/** Whether there is no database that the operator can log in to, so that only a change of the spec helps. */
export function isWithoutDatabase({ kind }: AccessFailure): boolean {
  return kind === "noConnectionUrl" || kind === "cloudIdentity";
}

/** Whether a reason of the access condition concerns the database, which only generated tokens need. */
export function isAboutDatabase(reason: string): boolean {
  return Object.values(databaseReasons).includes(reason);
}
