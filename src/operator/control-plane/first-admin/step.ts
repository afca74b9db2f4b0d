import {
  blocked,
  type ConditionState,
  findCondition,
  fingerprint,
  type Settled,
  settle,
} from "kube-controller-runtime";
import type { FirstAdminStatus } from "../../../api/v1alpha1/first-admin.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { reasonOf, withAdvice } from "../../coderd/failure.ts";
import { type FirstAdmin, passwordSecretName } from "../../coderd/settings.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { type ControlPlaneResult, conditionTypes } from "../status.ts";
import { coderdClient } from "../token/check.ts";
import { type FirstAdminRun, type FirstAdminState, firstAdminEffect } from "./effect.ts";
import { reportExistingUsers } from "./existing-users.ts";
import { passwordIn } from "./password.ts";
import { type FirstAdminPlan, isSameUser } from "./plan.ts";

/** Interval at which coderd is asked whether it still has users. An empty database accepts any first user. */
const CHECK_EVERY_MS = 10 * 60_000;
/** The same while the operator waits for the token that it needs to look up users. */
const RECHECK_MS = 30_000;

/** Access to coderd in this run. */
interface Access {
  readonly isServing: boolean;
  /** The operator's token, if any. */
  readonly token: string | undefined;
}

/**
 * Creates the first user of coderd, once, and only if coderd has no users. Needs no operator access. In steady state, it
 * asks coderd every ten minutes whether it has users.
 */
export async function ensureFirstAdmin(
  snapshot: Snapshot,
  environment: Environment,
  access: Access,
): Promise<ControlPlaneResult> {
  const { firstAdmin } = snapshot.controlPlane;
  if (!firstAdmin) return { noCondition: true, status: { firstAdmin: undefined } };
  const { now, object, passwordSecret } = snapshot;
  const { memory } = environment;
  const run: FirstAdminRun = {
    snapshot,
    environment,
    firstAdmin,
    isServing: access.isServing,
    isCheckDue: nextCheckMs(memory, snapshot) <= 0,
    client: coderdClient(undefined, { snapshot, environment }),
  };
  const present = passwordSecret.status === "fulfilled" ? passwordSecret.value : undefined;
  const recorded = object.status?.firstAdmin;
  const start = { present, recorded, hasUsers: undefined, isVerified: undefined, isFresh: false };
  const { email, username, name, isGenerated } = firstAdmin;
  const given = isGenerated ? "" : passwordIn(firstAdmin, present, run);
  const inputs = fingerprint([email, username, name, given]);
  const settled = await settle(firstAdminEffect(run), start, { inputs, now, backoff: memory.firstAdmin });
  return report(settled, run, access);
}

type Outcome = Settled<FirstAdminState, FirstAdminPlan, CoderFailure>;

async function report(outcome: Outcome, run: FirstAdminRun, access: Access): Promise<ControlPlaneResult> {
  const { firstAdmin, snapshot, environment } = run;
  if (outcome.end === "overtaken" || outcome.end === "notAllowed") return {};
  if (outcome.end === "failed") return notCreated(outcome, run);
  if (outcome.plan.do === "wait") return blocked("Pending", "Waiting for a ready pod of coderd.");
  if (outcome.plan.do === "awaitPassword") return blocked("SecretMissing", withoutPassword(firstAdmin));
  const result = await usersThere(outcome.state, run, access);
  // The next run creates the exposure.
  const nextMs = snapshot.awaitsFirstAdmin ? 0 : nextCheckMs(environment.memory, snapshot);
  return { ...result, requeueAfterMs: nextMs > 0 || snapshot.awaitsFirstAdmin ? nextMs : CHECK_EVERY_MS };
}

/** Zero or less if coderd must be asked now. */
function nextCheckMs({ firstAdminCheck }: Environment["memory"], { now }: Snapshot): number {
  return firstAdminCheck ? firstAdminCheck.at + CHECK_EVERY_MS - now : 0;
}

/** Reports on the users of coderd. Keeps the last report while coderd is not asked. */
async function usersThere(
  { recorded, hasUsers }: FirstAdminState,
  run: FirstAdminRun,
  { token }: Access,
): Promise<ControlPlaneResult> {
  const { now, object, controlPlane } = run.snapshot;
  const before = findCondition(object.status?.conditions, conditionTypes.firstAdmin);
  if (!hasUsers && before?.status === "True" && before.reason === recorded?.state) return {};
  const isTokenAwaited = token === undefined && controlPlane.operatorAccess.kind !== "disabled";
  const isCreated = recorded?.state === "Created";
  const checkedAt = isTokenAwaited && !isCreated ? now - CHECK_EVERY_MS + RECHECK_MS : now;
  if (hasUsers) run.environment.memory.firstAdminCheck = { at: checkedAt };
  return isCreated ? { condition: created(recorded, run) } : reportExistingUsers(run, token);
}

function created(
  { username, passwordSecretRef }: FirstAdminStatus,
  { snapshot }: FirstAdminRun,
): ConditionState {
  const secret = passwordSecretRef?.name;
  const isGenerated = secret === passwordSecretName(snapshot.controlPlane.identity.name);
  const advice = isGenerated ? " Change it after the first login, then delete the Secret." : "";
  const message = `The operator created user "${username}" with the initial password from Secret "${secret}".${advice}`;
  return { status: "True", reason: "Created", message };
}

function withoutPassword({ password: { name, key } }: FirstAdmin): string {
  return `Secret "${name}" does not exist or has nothing under key "${key}"; put the password of the first admin there.`;
}

function notCreated(
  { failure, retryInMs, plan }: Extract<Outcome, { end: "failed" }>,
  { firstAdmin, snapshot }: FirstAdminRun,
): ControlPlaneResult {
  // An unreachable coderd keeps its users.
  const isSettled = !snapshot.awaitsFirstAdmin && isSameUser(snapshot.object.status?.firstAdmin, firstAdmin);
  if (plan.do === "check" && isSettled) return { requeueAfterMs: retryInMs };
  const isWeak = failure.kind === "invalid" && failure.fields?.includes("password");
  const { name, key } = firstAdmin.password;
  if (isWeak)
    return blocked(
      "PasswordRejected",
      `coderd rejects the password in Secret "${name}", key "${key}"; put a stronger one there. ${failure.message}`,
      { requeueAfterMs: retryInMs },
    );
  const reason = reasonOf(failure, plan.do === "create" ? { transient: "CreationFailed" } : {});
  return blocked(reason, withAdvice(failure), { requeueAfterMs: retryInMs });
}
