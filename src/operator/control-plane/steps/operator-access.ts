import { createHash } from "node:crypto";
import type { DatabaseFailure } from "../../../coder/operator-access/failure.ts";
import { RENEW_BEFORE_MS } from "../../../coder/operator-access/token.ts";
import { CONTROLLER_INDEX } from "../../../runtime/controller/children.ts";
import { Secret } from "../../../runtime/kinds.ts";
import type { Stored } from "../../../runtime/object.ts";
import { variableValue } from "../../shared/env-sources.ts";
import { keptValue } from "../../shared/kept-secret.ts";
import type { SecretKey } from "../../shared/normalise.ts";
import { readSecretValue } from "../../shared/secret.ts";
import { blocked } from "../../shared/steps/result.ts";
import { type CoderdContext, databaseTarget } from "../coderd.ts";
import type { Snapshot } from "../observe.ts";
import { databaseVariable } from "../references.ts";
import { type HeldToken, tokenExpiry, tokenSecret } from "../resources/token-secret.ts";
import type { OperatorAccess } from "../spec.ts";
import type { Result } from "./result.ts";
import { checkToken } from "./token-check.ts";

/** How often a failed attempt is repeated while nothing changes. */
const RETRY_MS = 30_000;

/**
 * Gets the operator a token that coderd accepts: the one it is given, or one that it makes through coderd's
 * database. In steady state this asks nobody, apart from a check of the token every few minutes.
 */
export async function ensureOperatorAccess(
  snapshot: Snapshot,
  environment: CoderdContext,
  serving: boolean,
): Promise<Result<string>> {
  const access = snapshot.controlPlane.operatorAccess;
  if (access.kind === "generated") return useGeneratedToken(access, { snapshot, environment, serving });
  const withdrawal = await withdrawGeneratedToken(snapshot, environment);
  if (withdrawal) return withdrawal;
  if (access.kind === "given") return useGivenToken(access.token, { snapshot, environment, serving });
  return blocked("Disabled", "operator access is turned off by spec.operatorAccess.disabled", notReady);
}

interface Run {
  readonly snapshot: Snapshot;
  readonly environment: CoderdContext;
  readonly serving: boolean;
}

const notReady = { status: { operatorAccessReady: false, operatorTokenSecretRef: undefined } };

function ready(token: string, ref: SecretKey, nextCheckMs?: number): Result<string> {
  return {
    status: { operatorAccessReady: true, operatorTokenSecretRef: { name: ref.name, key: ref.key } },
    condition: {
      status: "True",
      reason: "TokenReady",
      message: `the operator's token is in Secret "${ref.name}"`,
    },
    value: token,
    ...(nextCheckMs === undefined ? {} : { requeueAfterMs: nextCheckMs }),
  };
}

async function useGivenToken(ref: SecretKey, run: Run): Promise<Result<string>> {
  const { snapshot, environment } = run;
  const { namespace } = snapshot.controlPlane.identity;
  const secret = await environment.context.referenced(Secret).get({ namespace, name: ref.name });
  const token = readSecretValue(secret, ref.key)?.trim();
  if (!token) {
    const message = `Secret "${ref.name}" does not exist or has nothing under key "${ref.key}"; put a token of an owner there`;
    return blocked("SecretMissing", message, { ...notReady, requeueAfterMs: RETRY_MS });
  }
  const check = await checkToken(token, run);
  switch (check.verdict) {
    case "good":
      return ready(token, ref, check.nextCheckMs);
    case "unclear":
      return blocked("CoderdUnreachable", check.message, { ...notReady, requeueAfterMs: RETRY_MS });
    case "rejected":
      return blocked("TokenRejected", `the token in Secret "${ref.name}" does not work: ${check.message}`, {
        ...notReady,
        requeueAfterMs: RETRY_MS,
      });
  }
}

async function useGeneratedToken(
  access: Extract<OperatorAccess, { kind: "generated" }>,
  run: Run,
): Promise<Result<string>> {
  const held = heldToken(access.token, run);
  if (held && !endsSoon(held, run.snapshot.now)) {
    const check = await checkToken(held.token, run);
    const keep =
      check.verdict === "good" ||
      (check.verdict === "unclear" && run.snapshot.object.status?.operatorAccessReady);
    if (keep) {
      await storeToken(access.token, held, run);
      return ready(held.token, access.token, check.verdict === "good" ? check.nextCheckMs : RETRY_MS);
    }
  }
  return throughDatabase(access.token, held, run);
}

function heldToken(ref: SecretKey, { snapshot, environment }: Run): HeldToken | undefined {
  const kept = keptValue(ref, snapshot.owner, environment.context.caches);
  return kept && { token: kept.value, expiresAt: tokenExpiry(kept.secret) };
}

function ownedSecrets({ object }: Snapshot, { context }: CoderdContext): Stored<Secret>[] {
  return context.caches.of(Secret).byIndex(CONTROLLER_INDEX, object.metadata.uid);
}

function endsSoon({ expiresAt }: HeldToken, now: number): boolean {
  return expiresAt !== undefined && expiresAt - now < RENEW_BEFORE_MS;
}

async function throughDatabase(
  ref: SecretKey,
  held: HeldToken | undefined,
  run: Run,
): Promise<Result<string>> {
  const { snapshot, environment, serving } = run;
  const connection = await connectionUrl(snapshot, environment);
  if (typeof connection !== "string") return connection;
  const inputs = hashOf([
    connection,
    held?.token ?? "",
    String(serving),
    String(snapshot.object.metadata.generation),
  ]);
  const { accessFailure } = environment.memory;
  if (accessFailure?.inputs === inputs && snapshot.now - accessFailure.at < RETRY_MS)
    return accessFailure.result;
  const result = await issueToken(ref, { connection, held }, run);
  if (result.value === undefined) environment.memory.accessFailure = { inputs, at: snapshot.now, result };
  else delete environment.memory.accessFailure;
  return result;
}

/** Asks the database for a token, stores it, and asks again, which ends the predecessor of a new one. */
async function issueToken(
  ref: SecretKey,
  { connection, held }: { connection: string; held: HeldToken | undefined },
  run: Run,
): Promise<Result<string>> {
  const { snapshot, environment } = run;
  const target = await databaseTarget(snapshot.controlPlane, connection, environment.context);
  const issued = await environment.ports.database.ensureToken(target, held?.token);
  if (!issued.ok) return databaseProblem(issued.failure);
  const { token, expiresAt, issuedBecause } = issued.value;
  await storeToken(ref, { token, expiresAt }, run);
  if (issuedBecause) {
    const message = `made a token for the operator (${issuedBecause}) and stored it in Secret "${ref.name}"`;
    environment.context.events.event(snapshot.object, { type: "Normal", reason: "TokenIssued", message });
    const settled = await environment.ports.database.ensureToken(target, token);
    if (!settled.ok) return databaseProblem(settled.failure);
  }
  environment.memory.token = { hash: hashOf([token]), checkedAt: snapshot.now };
  return ready(token, ref);
}

async function storeToken(ref: SecretKey, held: HeldToken, { snapshot, environment }: Run): Promise<void> {
  const secret = tokenSecret(snapshot.controlPlane, ref, held);
  await environment.context.children.converge(Secret, [secret], snapshot.owner);
}

/** Revokes a token that was made earlier and removes its Secret; `undefined` when there is none (any more). */
async function withdrawGeneratedToken(
  snapshot: Snapshot,
  environment: CoderdContext,
): Promise<Result<string> | undefined> {
  const { children } = environment.context;
  if (ownedSecrets(snapshot, environment).length === 0) return undefined;
  const connection = await connectionUrl(snapshot, environment);
  if (typeof connection === "string") {
    const target = await databaseTarget(snapshot.controlPlane, connection, environment.context);
    const revoked = await environment.ports.database.revokeToken(target);
    if (!revoked.ok) return databaseProblem(revoked.failure);
  }
  await children.converge(Secret, [], snapshot.owner);
  delete environment.memory.token;
  const message = "revoked the operator's own token and removed its Secret";
  environment.context.events.event(snapshot.object, { type: "Normal", reason: "TokenRevoked", message });
  return undefined;
}

/** The database's URL, or the condition that says why there is none. */
async function connectionUrl(
  { controlPlane }: Snapshot,
  { context }: CoderdContext,
): Promise<string | Result<string>> {
  const { namespace } = controlPlane.identity;
  const found = await variableValue(databaseVariable, controlPlane.pod, { namespace, context });
  if (found.kind === "value" && found.value.trim() !== "") return found.value.trim();
  if (found.kind === "missing") {
    const { kind, name, key } = found.source;
    const message = `${kind} "${name}" does not exist or has no key "${key}", from which ${databaseVariable} comes`;
    return blocked("SecretMissing", message, { ...notReady, requeueAfterMs: RETRY_MS });
  }
  const message = `${databaseVariable} is not set in spec.extraEnv or spec.envFrom; set it, or give a token with spec.operatorAccess.tokenSecretRef`;
  return blocked("NoConnectionURL", message, { ...notReady, requeueAfterMs: RETRY_MS });
}

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

function databaseProblem({ kind, message }: DatabaseFailure): Result<string> {
  return blocked(databaseReasons[kind], message, { ...notReady, requeueAfterMs: RETRY_MS });
}

function hashOf(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex");
}
