import { codeOf } from "../error-code.ts";
import { redact } from "../redact.ts";

/**
 * Why operator access through the database failed. Every `message` is safe to show: it never contains any
 * part of the connection URL.
 */
export interface DatabaseFailure {
  readonly kind: Kind;
  readonly message: string;
  /** For `unreachable`: the host name does not resolve, or the lookup failed. */
  readonly isNameUnknown?: true;
}

type Kind =
  /** The connection URL is invalid. */
  | "invalidUrl"
  /** The database does not respond. */
  | "unreachable"
  | "authenticationFailed"
  /** The server responds but has no database with that name. */
  | "databaseMissing"
  | "tlsFailed"
  /** coderd's tables do not exist: coderd has not migrated the database yet. */
  | "schemaMissing"
  /** The tables exist, but a column differs from what this operator supports. */
  | "schemaUnsupported"
  /** The database user is not permitted to read or write coderd's tables. */
  | "permissionDenied"
  /** A statement or a lock timed out. */
  | "timeout"
  /** Another user has the name or the email address of the system user. */
  | "accountTaken"
  | "transient";

/** Ends a transaction with a failure of known cause. */
export class DatabaseProblem extends Error {
  override readonly name = "DatabaseProblem";
  readonly failure: DatabaseFailure;

  constructor(kind: Kind, message: string) {
    super(message);
    this.failure = { kind, message };
  }
}

const BY_SQLSTATE: ReadonlyMap<string, readonly [Kind, string]> = new Map<string, readonly [Kind, string]>([
  [
    "28P01",
    [
      "authenticationFailed",
      "The database rejects the user or the password in the connection URL; correct them.",
    ],
  ],
  [
    "3D000",
    [
      "databaseMissing",
      "The database named in the connection URL does not exist; create it or correct the URL.",
    ],
  ],
  ["42P01", ["schemaMissing", "A table of coderd is missing: coderd has not migrated the database yet."]],
  ["57014", ["timeout", "A database statement timed out; check the load of the database."]],
  [
    "55P03",
    ["timeout", "A database statement timed out while waiting for a lock; check the load of the database."],
  ],
  ["25P03", ["timeout", "The database ended an idle transaction; check the load of the database."]],
  ["25006", ["transient", "The database is read-only; point the connection URL at the primary."]],
  [
    "53300",
    ["transient", "The database has no free connections; increase max_connections or close connections."],
  ],
  ["57P01", ["transient", "The database is shutting down; the operator retries when it is back."]],
  ["57P03", ["transient", "The database is starting up; the operator retries."]],
]);

const BY_SYSTEM_CODE: ReadonlyMap<string, string> = new Map([
  [
    "ECONNREFUSED",
    "The database host refuses the connection; check the host and the port in the connection URL.",
  ],
  ["ENOTFOUND", "The name of the database host does not resolve; check the connection URL."],
  ["EAI_AGAIN", "The DNS lookup of the database host failed; check DNS."],
  ["EHOSTUNREACH", "There is no route to the database host; check network policies."],
  ["ENETUNREACH", "There is no route to the database host; check network policies."],
  ["ETIMEDOUT", "The database host does not respond; check network policies and the port."],
  [
    "ENOENT",
    "The connection URL contains a Unix socket, which does not exist in the operator's pod; use a host name.",
  ],
]);

/** The error code if the server rejects TLS. */
export const TLS_REFUSED = "ERR_TLS_REFUSED";

const TLS_CODE = /^(DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|CERT_|ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO)/;

/** Describes a connection or statement error, by its code if it has one. */
export function describeDatabaseError(error: unknown): DatabaseFailure {
  if (error instanceof DatabaseProblem) return error.failure;
  const code = safeCode(error);
  const text = error instanceof Error ? error.message : "";
  const known = BY_SQLSTATE.get(code);
  if (known) return { kind: known[0], message: known[1] };
  if (code === "28000") return { kind: "authenticationFailed", message: loginRefused(text) };
  if (code === "42501")
    return {
      kind: "permissionDenied",
      message: `The database user lacks a permission: ${redact(text)}. Use the user that coderd uses.`,
    };
  const unreachable = BY_SYSTEM_CODE.get(code);
  if (unreachable)
    return {
      kind: "unreachable",
      message: unreachable,
      ...(["ENOTFOUND", "EAI_AGAIN"].includes(code) ? { isNameUnknown: true } : {}),
    };
  if (isTlsProblem(error)) return { kind: "tlsFailed", message: tlsFailed(code) };
  return describeByText(text, code);
}

/** Returns the code if it is safe to show, because the server chooses the SQLSTATE. */
function safeCode(error: unknown): string {
  const code = codeOf(error);
  return /^\w{1,64}$/.test(code) ? code : "unknown error";
}

/** Whether a connection with or without encryption might succeed instead. */
export function mayDependOnEncryption(error: unknown): boolean {
  return codeOf(error) === "28000" || isTlsProblem(error);
}

function isTlsProblem(error: unknown): boolean {
  return TLS_CODE.test(codeOf(error));
}

function tlsFailed(code: string): string {
  if (code === TLS_REFUSED)
    return "The database does not support TLS, which sslmode in the connection URL requires; enable TLS or change sslmode.";
  return `The TLS handshake with the database failed (${code}); check sslmode, sslrootcert and the CA certificates.`;
}

function loginRefused(text: string): string {
  if (!text.includes("pg_hba"))
    return "The database rejects the login; check the user in the connection URL and pg_hba.conf.";
  return text.includes("no encryption")
    ? "The database rejects this user without encryption; set sslmode to require or stricter."
    : "No rule in pg_hba.conf admits this user from the operator's address; add one.";
}

/** The driver's own errors have no code. Their text is matched but never shown. */
function describeByText(text: string, code: string): DatabaseFailure {
  if (/timeout expired|connection timeout/i.test(text))
    return {
      kind: "unreachable",
      message: "The database host did not respond in time; check network policies and the port.",
    };
  if (/query read timeout/i.test(text))
    return {
      kind: "timeout",
      message: "The database did not respond to a statement in time; check the load of the database.",
    };
  if (/SASL|SCRAM|password/i.test(text))
    return {
      kind: "authenticationFailed",
      message:
        "The database requires a password or another authentication method; correct the connection URL.",
    };
  if (/connection terminated|ECONNRESET|EPIPE/i.test(`${text} ${code}`))
    return {
      kind: "transient",
      message:
        "The connection to the database was interrupted; the operator retries. If this persists, check the network.",
    };
  return { kind: "transient", message: `The database reports an error (${code}); check its log.` };
}
