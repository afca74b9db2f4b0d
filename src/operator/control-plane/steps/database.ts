import { fingerprint } from "kube-controller-runtime";
import type { DatabaseTarget } from "../../../coder/operator-access/access.ts";
import type { DatabaseFailure } from "../../../coder/operator-access/failure.ts";
import { failed, type Result as Outcome, succeeded } from "../../../coder/result.ts";
import { variableValue } from "../../pods/env-sources.ts";
import { type CoderdContext, databaseTarget } from "../coderd.ts";
import type { Snapshot } from "../observe.ts";
import { databaseVariable } from "../references.ts";

/** One run of the steps that speak to coderd. */
export interface Run {
  readonly snapshot: Snapshot;
  readonly environment: CoderdContext;
  /** Whether coderd has a ready pod, and its Service is ours. */
  readonly serving: boolean;
}

/** Why operator access could not be had, in the words of its condition. */
export interface AccessProblem {
  readonly reason: string;
  readonly message: string;
  readonly retryMs: number;
}

/** How often a failed attempt is repeated while nothing changes. */
export const RETRY_MS = 30_000;

/** The reason when the spec does not say where the database is. */
export const NO_CONNECTION_URL = "NoConnectionURL";

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

/** Whether a reason of the access condition speaks of the database, as only a token of the operator's own needs it. */
export function isAboutDatabase(reason: string): boolean {
  return Object.values(databaseReasons).includes(reason);
}

export function databaseProblem({ kind, message }: DatabaseFailure): AccessProblem {
  return { reason: databaseReasons[kind], message, retryMs: RETRY_MS };
}

/**
 * Does `work` at coderd's database. A failure is remembered: as long as neither the spec, the database's URL nor
 * `inputs` change, the database is left alone for 30 s, however often runs come by.
 */
export async function atDatabase<T>(
  { snapshot, environment }: Run,
  inputs: readonly string[],
  work: (target: DatabaseTarget) => Promise<Outcome<T, AccessProblem>>,
): Promise<Outcome<T, AccessProblem>> {
  const { context, memory } = environment;
  const connection = await connectionUrl(snapshot, environment);
  if (!connection.ok) return connection;
  const attempt = fingerprint([connection.value, String(snapshot.object.metadata.generation), ...inputs]);
  const { databaseFailure } = memory;
  const age = snapshot.now - (databaseFailure?.at ?? 0);
  if (databaseFailure?.attempt === attempt && age < RETRY_MS)
    return failed({ ...databaseFailure.problem, retryMs: RETRY_MS - age });
  const result = await work(databaseTarget(snapshot.controlPlane, connection.value, context));
  if (result.ok) delete memory.databaseFailure;
  else memory.databaseFailure = { attempt, at: snapshot.now, problem: result.failure };
  return result;
}

async function connectionUrl(
  { controlPlane }: Snapshot,
  { context }: CoderdContext,
): Promise<Outcome<string, AccessProblem>> {
  const { namespace } = controlPlane.identity;
  const found = await variableValue(databaseVariable, controlPlane.pod, { namespace, context });
  if (found.kind === "value" && found.value.trim() !== "") return succeeded(found.value.trim());
  if (found.kind === "missing") {
    const { kind, name, key } = found.source;
    const message = `${kind} "${name}" does not exist or has no key "${key}", from which ${databaseVariable} comes`;
    return failed({ reason: "SecretMissing", message, retryMs: RETRY_MS });
  }
  if (found.kind === "tooLong") {
    const message = `The value of ${databaseVariable} is longer than 32 KiB; give the connection URL alone.`;
    return failed({ reason: databaseReasons.invalidUrl, message, retryMs: RETRY_MS });
  }
  const message = `${databaseVariable} is not set in spec.extraEnv or spec.envFrom; set it, or give a token with spec.operatorAccess.tokenSecretRef`;
  return failed({ reason: NO_CONNECTION_URL, message, retryMs: RETRY_MS });
}
