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
 * Provides a token that coderd accepts, from a Secret or created in coderd's database. In steady state, this
 * only checks the token every few minutes.
 */
export async function ensureOperatorAccess(
  snapshot: Snapshot,
  environment: Environment,
  served: Pick<TokenRun, "serviceSelectsPods" | "isServing" | "tenancy">,
): Promise<ControlPlaneResult<string>> {
  const run: TokenRun = { snapshot, environment, ...served };
  const access = snapshot.controlPlane.operatorAccess;
  switch (access.kind) {
    case "generated":
      return withoutEnd(await useGeneratedToken(access.token, run));
    case "given":
      return withdrawGeneratedToken(access.token, run);
    case "disabled":
      return withoutEnd(await withdrawAccess(run));
  }
}

/** Drops the expiration, because no token is provided anymore. */
function withoutEnd(result: ControlPlaneResult<string>): ControlPlaneResult<string> {
  return { ...result, status: { ...result.status, operatorTokenExpires: undefined } };
}

/** The value confirms that the Secret for a generated token does not have a different owner. */
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

/** Uses the generated token, and creates one in coderd's database if needed. */
async function useGeneratedToken(ref: SecretKey, run: TokenRun): Promise<ControlPlaneResult<string>> {
  const { snapshot, environment } = run;
  const { tokenSecret } = snapshot;
  const present = tokenSecret.status === "fulfilled" ? tokenSecret.value : undefined;
  // A Secret that is handed over may contain anything, so the database must confirm its token.
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
      if (!held) throw new TypeError("the token effect ended without a token");
      if (database === "unasked") await storeToken(ref, held, run);
      return ready(held.token, ref, check?.nextCheckMs);
    }
  }
}

/**
 * A ready coderd has created its tables. If they are missing, this is a different database, which is reported
 * by an event.
 */
function explained({ kind, message }: AccessFailure, { snapshot, environment, isServing }: TokenRun): string {
  if (kind !== "schemaMissing" || !isServing) return message;
  const full = `${message} A coderd pod is ready, so the connection URL points to a different database or schema than the pods use; correct it.`;
  const before = findCondition(snapshot.object.status?.conditions, conditionTypes.access);
  if (before?.message !== full) environment.own.emit("Warning", NOT_MIGRATED, full);
  return full;
}

async function withdrawAccess(run: TokenRun): Promise<ControlPlaneResult<string>> {
  const message = "Operator access is disabled by spec.operatorAccess.disabled.";
  const left = await withdrawToken(run);
  if (!left) return noAccess("Disabled", message);
  const { failure, retryInMs } = left;
  const more = `${message} The token could not be revoked yet. ${failure.message}`;
  return noAccess(accessReason(failure), more, retryInMs);
}

/**
 * Uses the provided token even if the generated one cannot be revoked yet, for example because of a broken
 * database.
 */
async function withdrawGeneratedToken(ref: SecretKey, run: TokenRun): Promise<ControlPlaneResult<string>> {
  const isOwn = run.snapshot.secrets.some(({ metadata }) => metadata.name === ref.name);
  const left = isOwn ? undefined : await withdrawToken(run);
  const result = await useProvidedToken(ref, run);
  return left ? withLeftOver(result, left) : result;
}

async function useProvidedToken(ref: SecretKey, run: TokenRun): Promise<ControlPlaneResult<string>> {
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

/** Reports the expiration of a provided token, which the operator does not renew. */
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

/** The operator has a token that is considered valid. */
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

/** The operator has no valid token. */
function noAccess(reason: string, message: string, retryMs?: number): ControlPlaneResult<string> {
  return blocked(reason, message, {
    status: withoutToken,
    ...(retryMs === undefined ? {} : { requeueAfterMs: retryMs }),
  });
}

/** The token still works, but the failed renewal is reported. */
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
