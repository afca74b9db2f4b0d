import type { ConditionState } from "kube-controller-runtime";
import { type CoderFailure, isDatabaseOutage, mayPass } from "../../../coder/failure.ts";
import { WITHOUT_DATABASE, withAdvice } from "../../coderd/failure.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { ControlPlaneResult } from "../status.ts";
import { coderdClient } from "../token/check.ts";

/** How often coderd is asked whether its database is back, or whether a suspicion is true. */
export const PROBE_EVERY_MS = 10_000;
const AT_ONCE_MS = 100;

/**
 * Whether coderd can't reach its database, which its pods and their probes do not show. It is asked only on suspicion:
 * some request of this control plane's, or of what depends on it, failed because of that.
 */
export async function findOutage(
  snapshot: Snapshot,
  environment: Environment,
  token: string | undefined,
): Promise<CoderFailure | undefined> {
  const { memory } = environment;
  const before = memory.databaseProbe;
  if (!token || !(before?.outage || memory.suspectsDatabase || snapshot.suspectsDatabase)) return undefined;
  const age = before ? snapshot.now - before.askedAt : PROBE_EVERY_MS;
  if (before && age >= 0 && age < PROBE_EVERY_MS) return before.outage;
  const answer = await coderdClient(token, { snapshot, environment }).currentUser();
  const outage = answer.ok ? undefined : outageBy(answer.failure, before?.outage);
  memory.databaseProbe = { askedAt: snapshot.now, outage };
  delete memory.suspectsDatabase;
  return outage;
}

/** An outage ends when coderd answers, not when it falls silent. */
function outageBy(failure: CoderFailure, before: CoderFailure | undefined): CoderFailure | undefined {
  if (isDatabaseOutage(failure)) return failure;
  return mayPass(failure) ? before : undefined;
}

/** What that means for a condition which nothing else makes False. */
export function withoutDatabase(outage: CoderFailure): ConditionState {
  return { status: "False", reason: WITHOUT_DATABASE, message: withAdvice(outage) };
}

/** Runs again at once when a step of this run met a coderd without its database, so that coderd is asked. */
export function suspecting(
  result: ControlPlaneResult,
  conditions: ReadonlyMap<string, ConditionState>,
  { memory }: Pick<Environment, "memory">,
): ControlPlaneResult {
  const said = [...conditions.values(), ...(result.condition ? [result.condition] : [])];
  const isMet = said.some(({ reason }) => reason === WITHOUT_DATABASE);
  if (!isMet || memory.databaseProbe?.outage) return result;
  memory.suspectsDatabase = true;
  return { ...result, requeueAfterMs: AT_ONCE_MS };
}
