import { type BackedOff, blocked, findCondition, settle, timestamp } from "kube-controller-runtime";
import { type AccessFailure, accessReason } from "../../coderd/access-failure.ts";
import { tokenFrom } from "../../coderd/session.ts";
import { givenTokenEnd, withTokenEnd } from "../../coderd/token-end.ts";
import { NOT_MIGRATED } from "../../conditions.ts";
import { rotationRequest } from "../../names.ts";
import type { SecretKey } from "../../normalize.ts";
import { DATABASE_RETRY_MS } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { type ControlPlaneResult, conditionTypes } from "../status.ts";
import { checkToken, coderdClient, type TokenRun, wasGood } from "./check.ts";
import { databaseAttempt } from "./database.ts";
import { type TokenState, tokenEffect } from "./effect.ts";
import { withdrawToken } from "./revoke.ts";
import { type HeldToken, heldToken, refuseForeign, storeToken } from "./secret.ts";

const RENEWAL_FAILED = "RenewalFailed";

/**
 * Gets the operator a token that coderd accepts: the one it is given, or one that it makes through coderd's
 * database. In steady state this asks nobody, apart from a check of the token every few minutes.
 */
export async function ensureOperatorAccess(
  snapshot: Snapshot,
  environment: Environment,
  served: Pick<TokenRun, "isServed" | "isServing" | "tenancy">,
): Promise<ControlPlaneResult<string>> {
  const run: TokenRun = { snapshot, environment, ...served };
  const access = snapshot.controlPlane.operatorAccess;
  switch (access.kind) {
    case "generated":
      return withoutEnd(await useGeneratedToken(access.token, run));
    case "given":
      return giveUpGeneratedToken(access.token, run);
    case "disabled":
      return withoutEnd(await giveUpAccess(run));
  }
}

/** There is no token any more that somebody gave. */
function withoutEnd(result: ControlPlaneResult<string>): ControlPlaneResult<string> {
  return { ...result, status: { ...result.status, operatorTokenExpires: undefined } };
}

/** The value says that the Secret for a token which the operator makes is not somebody else's. */
export async function checkTokenSecret(
  snapshot: Snapshot,
  environment: Environment,
): Promise<ControlPlaneResult<true>> {
  const { tokenSecret, controlPlane } = snapshot;
  if (tokenSecret.status === "rejected") throw tokenSecret.reason;
  const { operatorAccess } = controlPlane;
  if (operatorAccess.kind === "generated")
    refuseForeign(operatorAccess.token, tokenSecret.value, { snapshot, environment });
  return { value: true };
}

/** Uses the token that the operator has made for itself, and makes one through coderd's database if need be. */
async function useGeneratedToken(ref: SecretKey, run: TokenRun): Promise<ControlPlaneResult<string>> {
  const { snapshot, environment } = run;
  const { tokenSecret } = snapshot;
  const present = tokenSecret.status === "fulfilled" ? tokenSecret.value : undefined;
  // What somebody hands over may hold anything: the database has to say whether that is the operator's token.
  const isOurs = present === undefined || environment.children.owns(present, snapshot.owner);
  const database = isOurs ? "unasked" : "issued";
  const start: TokenState = { present, check: undefined, database, isFresh: false };
  const request = rotationRequest(snapshot.object) ?? "";
  const inputs = [heldToken(ref, present, snapshot)?.token ?? "", String(run.isServing), request];
  const options = { ...databaseAttempt(snapshot, inputs), backoff: environment.memory.token };
  const settled = await settle(tokenEffect(ref, run), start, options);
  const held = heldToken(ref, settled.state.present, snapshot);
  switch (settled.end) {
    case "overtaken":
    case "notAllowed":
      return {};
    case "failed":
      return held && settled.plan.do === "renew"
        ? notRenewed(ref, held, { run, why: settled })
        : noAccess(accessReason(settled.failure), explained(settled.failure, run), settled.retryInMs);
    case "settled": {
      const { check, database } = settled.state;
      if (!held) throw new TypeError("a token is settled only when there is one");
      if (database === "unasked") await storeToken(ref, held, run);
      return ready(held.token, ref, check?.nextCheckMs);
    }
  }
}

/** A coderd that serves has made its tables; what has none is another database, and worth an event. */
function explained({ kind, message }: AccessFailure, { snapshot, environment, isServing }: TokenRun): string {
  if (kind !== "schemaMissing" || !isServing) return message;
  const full = `${message} A coderd pod is ready, so the connection URL points to a different database or schema than the pods use; correct it.`;
  const before = findCondition(snapshot.object.status?.conditions, conditionTypes.access);
  if (before?.message !== full) environment.own.emit("Warning", NOT_MIGRATED, full);
  return full;
}

async function giveUpAccess(run: TokenRun): Promise<ControlPlaneResult<string>> {
  const message = "Operator access is disabled by spec.operatorAccess.disabled.";
  const left = await withdrawToken(run);
  if (!left) return noAccess("Disabled", message);
  const { failure, retryInMs } = left;
  const more = `${message} The token could not be revoked yet. ${failure.message}`;
  return noAccess(accessReason(failure), more, retryInMs);
}

/** Uses the given token also while the operator's own can't be revoked: a broken database may be why it is given. */
async function giveUpGeneratedToken(ref: SecretKey, run: TokenRun): Promise<ControlPlaneResult<string>> {
  const isOwn = run.snapshot.secrets.some(({ metadata }) => metadata.name === ref.name);
  const left = isOwn ? undefined : await withdrawToken(run);
  const result = await useGivenToken(ref, run);
  return left ? withLeftOver(result, left) : result;
}

async function useGivenToken(ref: SecretKey, run: TokenRun): Promise<ControlPlaneResult<string>> {
  const { controlPlane, sources } = run.snapshot;
  const recipient = { controlPlaneUID: controlPlane.identity.uid };
  const { value: token, ...found } = tokenFrom(ref, sources, {
    recipient,
    wants: "a token of a user with the owner role",
  });
  if (!token) return { ...found, status: withoutToken };
  const check = await checkToken(token, run);
  if (check.verdict === "rejected") {
    const message = `The token in Secret "${ref.name}" does not work. ${check.message} Replace it with a token of a user with the owner role.`;
    return noAccess("TokenRejected", message, DATABASE_RETRY_MS);
  }
  if (check.verdict === "good" || wasGood(token, ref, run))
    return withEnd(ready(token, ref, check.nextCheckMs), token, { ref, run });
  return noAccess(run.isServing ? "CoderdUnreachable" : "Pending", check.message, check.nextCheckMs);
}

/** Says when a token ends that somebody gave: nobody renews it. */
async function withEnd(
  result: ControlPlaneResult<string>,
  token: string,
  { ref, run }: { readonly ref: SecretKey; readonly run: TokenRun },
): Promise<ControlPlaneResult<string>> {
  const { snapshot, environment, isServing } = run;
  if (!isServing) return result;
  const { now, object } = snapshot;
  const memory = environment.memory;
  const endsAt = await givenTokenEnd(token, coderdClient(token, run), { memory, now });
  const before = findCondition(object.status?.conditions, conditionTypes.access);
  const emit = environment.own.emit.bind(environment.own);
  const condition = withTokenEnd(result.condition, { secretName: ref.name, endsAt, now, before, emit });
  return {
    ...result,
    ...(condition && { condition }),
    status: { ...result.status, ...(endsAt !== undefined && { operatorTokenExpires: timestamp(endsAt) }) },
  };
}

function withLeftOver(
  result: ControlPlaneResult<string>,
  { failure, retryInMs }: BackedOff<AccessFailure>,
): ControlPlaneResult<string> {
  const { condition, requeueAfterMs = retryInMs } = result;
  const note = ` The previously generated token could not be revoked yet. ${failure.message}`;
  return {
    ...result,
    ...(condition ? { condition: { ...condition, message: condition.message + note } } : {}),
    requeueAfterMs: Math.min(requeueAfterMs, retryInMs),
  };
}

/** The operator has a token that coderd accepts, as far as anybody knows. */
function ready(token: string, ref: SecretKey, nextCheckMs?: number): ControlPlaneResult<string> {
  const message = `The operator's token is in Secret "${ref.name}".`;
  return {
    status: { operatorAccessReady: true, operatorTokenSecretRef: { name: ref.name, key: ref.key } },
    condition: { status: "True", reason: "TokenReady", message },
    value: token,
    ...(nextCheckMs === undefined ? {} : { requeueAfterMs: nextCheckMs }),
  };
}

const withoutToken = { operatorAccessReady: false, operatorTokenSecretRef: undefined };

/** The operator has no token to work with. */
function noAccess(reason: string, message: string, retryMs?: number): ControlPlaneResult<string> {
  return blocked(reason, message, {
    status: withoutToken,
    ...(retryMs === undefined ? {} : { requeueAfterMs: retryMs }),
  });
}

/** The token still works, so nothing is broken yet; but whoever looks should see what is coming. */
function notRenewed(
  ref: SecretKey,
  { token, expiresAt }: HeldToken,
  { run, why }: { readonly run: TokenRun; readonly why: BackedOff<AccessFailure> },
): ControlPlaneResult<string> {
  const { snapshot, environment } = run;
  const end = expiresAt === undefined ? "" : ` until ${timestamp(expiresAt)}`;
  const message = `The operator's token in Secret "${ref.name}" works${end}, but could not be renewed. ${why.failure.message}`;
  const before = findCondition(snapshot.object.status?.conditions, conditionTypes.access);
  if (before?.reason !== RENEWAL_FAILED) environment.own.emit("Warning", RENEWAL_FAILED, message);
  return {
    ...ready(token, ref, why.retryInMs),
    condition: { status: "True", reason: RENEWAL_FAILED, message },
  };
}
