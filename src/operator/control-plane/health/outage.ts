import type { ConditionState } from "kube-controller-runtime";
import { type CoderFailure, isDatabaseOutage, mayResolve } from "../../../coder/failure.ts";
import { WITHOUT_DATABASE, withAdvice } from "../../coderd/failure.ts";
import type { Memory } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { ControlPlaneResult } from "../status.ts";
import { coderdClient } from "../token/check.ts";

/** Polling interval during an outage or a suspected outage of the database. */
export const PROBE_EVERY_MS = 10_000;

/** Polling interval otherwise, because neither pods nor probes report an outage. */
const ROUTINE_MS = 25_000;
const AT_ONCE_MS = 100;

interface Asked {
  readonly token: string | undefined;
  /** Whether a pod is ready. Other pods need not respond. */
  readonly isServing: boolean;
}

/**
 * Determines whether coderd can reach its database. Checks immediately if a request of the operator or of a
 * dependent reported an outage.
 */
export async function findOutage(
  snapshot: Snapshot,
  environment: Environment,
  { token, isServing }: Asked,
): Promise<CoderFailure | undefined> {
  const { memory } = environment;
  const before = memory.databaseProbe;
  const isSuspected = before?.outage || memory.suspectsDatabase || snapshot.suspectsDatabase;
  if (!token || !(isServing || isSuspected)) return undefined;
  const age = before ? snapshot.now - before.askedAt : isSuspected ? PROBE_EVERY_MS : 0;
  if (age >= 0 && age < (isSuspected ? PROBE_EVERY_MS : ROUTINE_MS)) return before?.outage;
  const answer = await coderdClient(token, { snapshot, environment }).currentUser();
  const outage = answer.ok ? undefined : outageBy(answer.failure, before?.outage);
  memory.databaseProbe = { askedAt: snapshot.now, outage };
  delete memory.suspectsDatabase;
  return outage;
}

/** An outage ends when coderd responds, not when it stops responding. */
function outageBy(failure: CoderFailure, before: CoderFailure | undefined): CoderFailure | undefined {
  if (isDatabaseOutage(failure)) return failure;
  return mayResolve(failure) ? before : undefined;
}

/** Reports the outage in a condition that nothing else makes False. */
export function withoutDatabase(outage: CoderFailure): ConditionState {
  return { status: "False", reason: WITHOUT_DATABASE, message: withAdvice(outage) };
}

/**
 * Triggers a reconcile when the next check is due, or immediately if a step of this reconcile detected an
 * outage.
 */
export function askingAgain(
  result: ControlPlaneResult,
  conditions: ReadonlyMap<string, ConditionState>,
  {
    token,
    now,
    memory,
  }: { readonly token: string | undefined; readonly now: number; readonly memory: Memory },
): ControlPlaneResult {
  // The first token was checked a moment ago.
  if (token) memory.databaseProbe ??= { askedAt: now, outage: undefined };
  const { databaseProbe, suspectsDatabase } = memory;
  const said = [...conditions.values(), ...(result.condition ? [result.condition] : [])];
  const isMet = said.some(({ reason }) => reason === WITHOUT_DATABASE);
  if (isMet && !databaseProbe?.outage) {
    memory.suspectsDatabase = true;
    return { ...result, requeueAfterMs: AT_ONCE_MS };
  }
  const dueMs = databaseProbe && !suspectsDatabase ? ROUTINE_MS : Number.POSITIVE_INFINITY;
  const requeueAfterMs = Math.min(result.requeueAfterMs ?? dueMs, dueMs);
  return Number.isFinite(requeueAfterMs) ? { ...result, requeueAfterMs } : result;
}
