import { type ConditionState, findCondition } from "kube-controller-runtime";
import type { DaemonSight } from "../../daemons/observer.ts";
import type { PodReport } from "../../pods/report.ts";
import { type Connections, connectionsOf } from "../daemons/connections.ts";
import { whyNotConnected } from "../daemons/hint.ts";
import { daemonsConnected, daemonsUnknown, NOT_PERMITTED } from "../daemons/judge.ts";
import { observeDaemons, paceOf } from "../daemons/look.ts";
import { keysOfPool } from "../key/record.ts";
import { statusOf } from "../key/state.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { conditionTypes } from "../status.ts";
import type { ProvisionerSession } from "./access.ts";
import type { KeyOutcome } from "./key.ts";
import { type ProvisionerResult, waiting } from "./result.ts";

/** How old an answer may be that says nothing new. */
const SELDOM_MS = 2 * 60_000;

/** A single question in vain is nothing to report. */
const VAIN_QUESTIONS = 2;

interface DaemonInputs {
  readonly session: ProvisionerSession | undefined;
  readonly outcome: KeyOutcome | undefined;
  readonly pods: PodReport | undefined;
}

/** Reports whether coderd lists the daemons of our pods with the key in use. The value is true when it does not move. */
export async function confirmDaemons(
  snapshot: Snapshot,
  environment: Environment,
  { session, outcome, pods }: DaemonInputs,
): Promise<ProvisionerResult<{ readonly stalled: string }>> {
  const status = outcome && statusOf(outcome.state);
  if (!session || !status?.organizationID || !status.provisionerKeyID) return unobserved(snapshot);
  const keys = keysOfPool(status);
  const { memory } = environment;
  const look = (maxAgeMs: number) =>
    observeDaemons({ ...session, organizationId: status.organizationID ?? "" }, environment, maxAgeMs);
  const join = (sight: DaemonSight): Connections | undefined =>
    sight.seen ? connectionsOf(snapshot.provisioner, keys, { ...snapshot, ...sight }) : undefined;
  const isCalm = (connections: Connections | undefined) =>
    connections !== undefined && connections.connected >= snapshot.provisioner.replicas;
  let sight = await look(SELDOM_MS);
  if (sight.seen && !isCalm(join(sight))) sight = await look(paceOf(memory, snapshot.now));
  const connections = join(sight);
  if (isCalm(connections)) delete memory.daemonsMissingSince;
  else memory.daemonsMissingSince ??= snapshot.now;
  if (!sight.seen || !connections) return unknown(sight, snapshot);
  const condition = daemonsConnected({
    provisioner: snapshot.provisioner,
    connections,
    rollout: pods?.rollout,
    wasReady: wasReady(snapshot.object),
    coderdVersion: session.controlPlane.status.version,
    hint: whyNotConnected(snapshot.provisioner, session.controlPlane),
  });
  const again = Math.min(paceOf(memory, snapshot.now), connections.nextLateInMs ?? SELDOM_MS);
  return {
    condition,
    requeueAfterMs: isCalm(connections) ? SELDOM_MS : again,
    ...(condition.reason === "Stalled" ? { value: { stalled: condition.message } } : {}),
  };
}

function wasReady({ status }: Snapshot["object"]): boolean {
  return findCondition(status?.conditions, conditionTypes.ready)?.status === "True";
}

function unobserved(snapshot: Snapshot): ProvisionerResult<never> {
  const { daemons } = conditionTypes;
  const earlier = findCondition(snapshot.object.status?.conditions, daemons);
  if (!earlier) return waiting(daemons, "Waiting for a provisioner key.", snapshot);
  const message = "coderd can't be asked which daemons are connected; see the conditions before this one.";
  return { condition: { status: "Unknown", reason: "NotObserved", message } };
}

function unknown(sight: DaemonSight, { object }: Snapshot): ProvisionerResult<never> {
  if (sight.seen) return {};
  const { failure, inARow, retryInMs } = sight;
  const condition: ConditionState = daemonsUnknown(failure);
  const isKept = inARow < VAIN_QUESTIONS && wasReady(object) && condition.reason !== NOT_PERMITTED;
  return { ...(isKept ? {} : { condition }), requeueAfterMs: retryInMs };
}
