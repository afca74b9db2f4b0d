import { type Attempt, type BackedOff, type Clock, fingerprint } from "kube-controller-runtime";
import { type CoderFailure, mayResolve } from "../../../coder/failure.ts";
import { reasonOf, withAdvice } from "../../coderd/failure.ts";
import type { ReportedHealth } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { type ControlPlaneResult, unknown } from "../status.ts";
import { coderdClient } from "../token/check.ts";
import { addReport, recorded, restored } from "./findings.ts";
import { PROBE_EVERY_MS, withoutDatabase } from "./outage.ts";
import { verdict } from "./verdict.ts";

/** A replica creates a report at most every ten minutes, so shorter intervals have little benefit. */
const ASK_EVERY_MS = 5 * 60_000;
/** Maximum age of a report while no newer one is available. */
const VALID_MS = 15 * 60_000;
/** coderd needs seconds to create its first report. After this time, the status is published without it. */
const MAX_WAIT_MS = 100;
/** Delay until the next reconcile reads a pending report. */
const RECHECK_MS = 1_000;

interface HealthInputs {
  readonly token: string | undefined;
  /** coderd reports that it cannot reach its database. */
  readonly outage: CoderFailure | undefined;
}

/** Requests a report if one is due, so that coderd creates it during the other requests of the reconcile. */
export function askForHealth(snapshot: Snapshot, environment: Environment, inputs: HealthInputs): void {
  const { memory } = environment;
  const { token, outage } = inputs;
  const isOff = snapshot.controlPlane.operatorAccess.kind === "disabled";
  if (isOff || !token || outage) {
    // The answer would be that of the previous pods.
    delete memory.healthAsked;
    return;
  }
  if (untilDue(snapshot, environment) > 0) return;
  const attempt = attemptWith(token, snapshot);
  if (memory.healthBackoff.current(attempt) || memory.healthAsked?.inputs === attempt.inputs) return;
  const answer = coderdClient(token, { snapshot, environment }).health();
  memory.healthAsked = { inputs: attempt.inputs, answer };
  // The reconcile may end before it reads the response.
  answer.catch(() => {
    if (memory.healthAsked?.answer === answer) delete memory.healthAsked;
  });
}

/**
 * Reports the health of coderd every five minutes. A missing response does not count as unhealthy. `isBusy`:
 * the reconcile has other results, which must not wait for a slow report.
 */
export async function reportHealth(
  snapshot: Snapshot,
  environment: Environment,
  { token, isBusy, outage }: HealthInputs & { readonly isBusy: boolean },
): Promise<ControlPlaneResult> {
  if (snapshot.controlPlane.operatorAccess.kind === "disabled")
    return {
      ...unknown("Disabled", "The health of coderd is unknown because operator access is disabled."),
      status: recorded([]),
    };
  if (!token) return unknown("Pending", "Waiting for a ready coderd pod and operator access.");
  const { memory, clock } = environment;
  if (outage) {
    const condition = { ...withoutDatabase(outage), reason: "DatabaseFailing" };
    return { condition, requeueAfterMs: PROBE_EVERY_MS };
  }
  const dueInMs = untilDue(snapshot, environment);
  if (memory.health && dueInMs > 0) return { ...known(snapshot, memory.health), requeueAfterMs: dueInMs };
  const attempt = attemptWith(token, snapshot);
  const backedOff = memory.healthBackoff.current(attempt);
  if (backedOff) return notReported(backedOff, snapshot, environment);
  askForHealth(snapshot, environment, { token, outage });
  const asked = memory.healthAsked?.answer;
  const answer = await (isBusy && asked ? within(MAX_WAIT_MS, asked, clock) : asked);
  if (!answer) return { requeueAfterMs: RECHECK_MS };
  delete memory.healthAsked;
  if (!answer.ok)
    return notReported(memory.healthBackoff.begin(answer.failure, attempt), snapshot, environment);
  memory.healthBackoff.end();
  const before = memory.health?.held ?? restored(snapshot.object.status);
  const held = addReport(before, answer.value, snapshot.controlPlane.replicas);
  memory.health = { held, askedAt: snapshot.now };
  return { ...known(snapshot, memory.health), requeueAfterMs: ASK_EVERY_MS };
}

/** Delay until the next report is due. Bounded, in case the clock was set back. */
function untilDue({ now }: Snapshot, { memory: { health } }: Environment): number {
  const dueInMs = health ? health.askedAt + ASK_EVERY_MS - now : 0;
  return dueInMs <= ASK_EVERY_MS ? dueInMs : 0;
}

function attemptWith(token: string, { now }: Snapshot): Attempt {
  return { inputs: fingerprint([token]), now };
}

/** Result of the work, if it ends in time. */
async function within<T>(ms: number, work: Promise<T>, clock: Clock): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const cancel = clock.setTimer(() => late.resolve(undefined), ms);
  return Promise.race([work, late.promise]).finally(cancel);
}

function known({ poolsCanScaleToZero }: Snapshot, { held }: ReportedHealth): ControlPlaneResult {
  const findings = held.map(({ finding }) => finding);
  return { condition: verdict(findings, poolsCanScaleToZero), status: recorded(held) };
}

/** If coderd does not respond, its last report remains valid for a while. */
function notReported(
  { failure, retryInMs }: BackedOff<CoderFailure>,
  snapshot: Snapshot,
  { memory: { health } }: Environment,
): ControlPlaneResult {
  const isValid = health !== undefined && snapshot.now - health.askedAt < VALID_MS;
  const result =
    isValid && mayResolve(failure)
      ? known(snapshot, health)
      : unknown(reasonOf(failure, { transient: "NoReport" }), withAdvice(failure));
  return { ...result, requeueAfterMs: retryInMs };
}
