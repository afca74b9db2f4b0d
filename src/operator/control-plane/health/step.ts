import { type BackedOff, fingerprint } from "kube-controller-runtime";
import { type CoderFailure, mayPass } from "../../../coder/failure.ts";
import { reasonOf, withAdvice } from "../../coderd/failure.ts";
import type { ReportedHealth } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { type ControlPlaneResult, unknown } from "../status.ts";
import { coderdClient } from "../token/check.ts";
import { addReport, recalled, recorded } from "./findings.ts";
import { PROBE_EVERY_MS, withoutDatabase } from "./outage.ts";
import { verdict } from "./verdict.ts";

/** A replica makes a report every ten minutes at most, so asking more often says little more. */
const ASK_EVERY_MS = 5 * 60_000;
/** How long a report counts while no other is to be had. */
const VALID_MS = 15 * 60_000;
/** The first report takes a coderd seconds to make: what others wait for is published first. */
const AFTER_START_MS = 1_000;

interface HealthInputs {
  readonly token: string | undefined;
  /** This run found out something else of coderd, which is to be published first. */
  readonly isBusy: boolean;
  /** coderd says that it can't reach its database. */
  readonly outage: CoderFailure | undefined;
}

/** Says what coderd thinks of its own health, every five minutes. A coderd that can't say is no sick one. */
export async function reportHealth(
  snapshot: Snapshot,
  environment: Environment,
  { token, isBusy, outage }: HealthInputs,
): Promise<ControlPlaneResult> {
  if (snapshot.controlPlane.operatorAccess.kind === "disabled")
    return {
      ...unknown("Disabled", "Operator access is off, so coderd is not asked for its health."),
      status: recorded([]),
    };
  if (!token) return unknown("Pending", "Waiting for a ready pod of coderd and for operator access.");
  const { memory } = environment;
  if (outage) {
    const condition = { ...withoutDatabase(outage), reason: "DatabaseFailing" };
    return { condition, requeueAfterMs: PROBE_EVERY_MS };
  }
  const dueInMs = memory.health ? memory.health.askedAt + ASK_EVERY_MS - snapshot.now : 0;
  // A clock that was set back would make it wait for as long.
  const isTooSoon = dueInMs > 0 && dueInMs <= ASK_EVERY_MS;
  if (memory.health && isTooSoon) return { ...known(snapshot, memory.health), requeueAfterMs: dueInMs };
  const attempt = { inputs: fingerprint([token]), now: snapshot.now };
  const backedOff = memory.healthBackoff.current(attempt);
  if (backedOff) return notReported(backedOff, snapshot, environment);
  if (isBusy) return { requeueAfterMs: AFTER_START_MS };
  const answer = await coderdClient(token, { snapshot, environment }).health();
  if (!answer.ok)
    return notReported(memory.healthBackoff.begin(answer.failure, attempt), snapshot, environment);
  memory.healthBackoff.end();
  const before = memory.health?.held ?? recalled(snapshot.object.status);
  const held = addReport(before, answer.value, snapshot.controlPlane.replicas);
  memory.health = { held, askedAt: snapshot.now };
  return { ...known(snapshot, memory.health), requeueAfterMs: ASK_EVERY_MS };
}

function known({ poolsMayRest }: Snapshot, { held }: ReportedHealth): ControlPlaneResult {
  const findings = held.map(({ finding }) => finding);
  return { condition: verdict(findings, poolsMayRest), status: recorded(held) };
}

/** A coderd that does not answer for once is as healthy as its last report says. */
function notReported(
  { failure, retryInMs }: BackedOff<CoderFailure>,
  snapshot: Snapshot,
  { memory: { health } }: Environment,
): ControlPlaneResult {
  const isValid = health !== undefined && snapshot.now - health.askedAt < VALID_MS;
  const result =
    isValid && mayPass(failure)
      ? known(snapshot, health)
      : unknown(reasonOf(failure, { transient: "NoReport" }), withAdvice(failure));
  return { ...result, requeueAfterMs: retryInMs };
}
