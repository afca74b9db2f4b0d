import { Secret } from "kube-controller-runtime";
import type { SecretKey } from "../../normalise.ts";
import { readSecretValue } from "../../secret.ts";
import type { CoderdContext } from "../coderd.ts";
import type { Snapshot } from "../observe.ts";
import { isKeptFrom, notAllowed } from "../session.ts";
import { noAccess, ready } from "./access-result.ts";
import { type AccessProblem, RETRY_MS, type Run } from "./database.ts";
import { useGeneratedToken } from "./generated-token.ts";
import type { Result } from "./result.ts";
import { checkToken, wasGood } from "./token-check.ts";
import { checkSecret, ownedSecrets } from "./token-store.ts";
import { withdrawToken } from "./withdrawal.ts";

/**
 * Gets the operator a token that coderd accepts: the one it is given, or one that it makes through coderd's
 * database. In steady state this asks nobody, apart from a check of the token every few minutes.
 */
export async function ensureOperatorAccess(
  snapshot: Snapshot,
  environment: CoderdContext,
  serving: boolean,
): Promise<Result<string>> {
  const run: Run = { snapshot, environment, serving };
  const access = snapshot.controlPlane.operatorAccess;
  switch (access.kind) {
    case "generated":
      return useGeneratedToken(access.token, run);
    case "given":
      return giveUpGeneratedToken(access.token, run);
    case "disabled":
      return giveUpAccess(run);
  }
}

/** The value says that the Secret for a token which the operator makes is not somebody else's. */
export async function checkTokenSecret(
  snapshot: Snapshot,
  environment: CoderdContext,
): Promise<Result<true>> {
  const { operatorAccess } = snapshot.controlPlane;
  if (operatorAccess.kind === "generated")
    await checkSecret(operatorAccess.token, { snapshot, environment, serving: false });
  return { value: true };
}

async function giveUpAccess(run: Run): Promise<Result<string>> {
  const message = "operator access is turned off by spec.operatorAccess.disabled";
  const left = await withdrawToken(run);
  if (!left) return noAccess({ reason: "Disabled", message });
  return noAccess({
    ...left,
    message: `${message}, but its token could not be revoked yet: ${left.message}`,
  });
}

/** Uses the given token also while the operator's own can't be revoked: a broken database may be why it is given. */
async function giveUpGeneratedToken(ref: SecretKey, run: Run): Promise<Result<string>> {
  const isOwn = ownedSecrets(run).some(({ metadata }) => metadata.name === ref.name);
  const left = isOwn ? undefined : await withdrawToken(run);
  const result = await useGivenToken(ref, run);
  return left ? withLeftOver(result, left) : result;
}

async function useGivenToken(ref: SecretKey, run: Run): Promise<Result<string>> {
  const { snapshot, environment } = run;
  const { namespace, uid } = snapshot.controlPlane.identity;
  const secret = await environment.context.referenced(Secret).get({ namespace, name: ref.name });
  if (secret && isKeptFrom(uid, secret))
    return noAccess({ reason: "SecretNotAllowed", message: notAllowed(ref), retryMs: RETRY_MS });
  const token = readSecretValue(secret, ref.key)?.trim();
  if (!token) {
    const message = `Secret "${ref.name}" does not exist or has nothing under key "${ref.key}"; put a token of an owner there`;
    return noAccess({ reason: "SecretMissing", message, retryMs: RETRY_MS });
  }
  const check = await checkToken(token, run);
  if (check.verdict === "rejected") {
    const message = `the token in Secret "${ref.name}" does not work: ${check.message}`;
    return noAccess({ reason: "TokenRejected", message, retryMs: RETRY_MS });
  }
  if (check.verdict === "good" || wasGood(token, ref, run)) return ready(token, ref, check.nextCheckMs);
  const reason = run.serving ? "CoderdUnreachable" : "Pending";
  return noAccess({ reason, message: check.message, retryMs: check.nextCheckMs });
}

function withLeftOver(result: Result<string>, left: AccessProblem): Result<string> {
  const { condition, requeueAfterMs = left.retryMs } = result;
  const note = `; the token that the operator made earlier could not be revoked yet: ${left.message}`;
  return {
    ...result,
    ...(condition ? { condition: { ...condition, message: condition.message + note } } : {}),
    requeueAfterMs: Math.min(requeueAfterMs, left.retryMs),
  };
}
