import { findCondition } from "kube-controller-runtime";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { DaemonSight } from "../../daemons/observer.ts";
import type { PodReport } from "../../pods/report.ts";
import { type Connections, connectionsOf, isAwaited } from "../daemons/connections.ts";
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

/** Reports whether coderd lists the daemons of our pods with the key in use. The value says what does not move. */
export async function confirmDaemons(
  snapshot: Snapshot,
  environment: Environment,
  { session, outcome, pods }: DaemonInputs,
): Promise<ProvisionerResult<{ readonly stalled: string }>> {
  const status = outcome && statusOf(outcome.state);
  if (!session || !status?.organizationID || !status.provisionerKeyID) return unobserved(snapshot);
  const { provisioner, now } = snapshot;
  const { memory } = environment;
  const look = await lookAt(status, session, { snapshot, environment });
  if (!look.connections) return unknown(look.failure, snapshot);
  const { connections } = look;
  const condition = daemonsConnected({
    provisioner,
    connections,
    rollout: pods?.rollout,
    wasReady: wasReady(snapshot.object),
    coderdVersion: session.controlPlane.status.version,
    hint: whyNotConnected(provisioner, session.controlPlane, snapshot.deployment),
  });
  const again = isAwaited(connections, provisioner)
    ? Math.min(paceOf(memory, now), connections.nextLateInMs ?? SELDOM_MS)
    : SELDOM_MS;
  const stalled = condition.reason === "Stalled" ? { value: { stalled: condition.message } } : {};
  return { condition, requeueAfterMs: again, ...stalled };
}

type Look =
  | { readonly connections: Connections }
  | { readonly connections?: undefined; readonly failure: Extract<DaemonSight, { seen: false }> };

/** An old answer is good enough when it says that nobody is missing. */
async function lookAt(
  status: Partial<ProvisionerStatus>,
  session: ProvisionerSession,
  { snapshot, environment }: { readonly snapshot: Snapshot; readonly environment: Environment },
): Promise<Look> {
  const { provisioner, now } = snapshot;
  const { memory } = environment;
  // Daemons count by their pods, so without pods the answer is known.
  if (snapshot.pods.length === 0) {
    delete memory.awaited;
    return { connections: connectionsOf(provisioner, keysOfPool(status), { ...snapshot, daemons: [] }) };
  }
  const observe = async (maxAgeMs: number): Promise<Look> => {
    const organizationId = status.organizationID ?? "";
    const sight = await observeDaemons({ ...session, organizationId }, environment, maxAgeMs);
    if (!sight.seen) return { failure: sight };
    return { connections: connectionsOf(provisioner, keysOfPool(status), { ...snapshot, ...sight }) };
  };
  const first = await observe(SELDOM_MS);
  if (!first.connections || !isAwaited(first.connections, provisioner)) {
    if (first.connections) delete memory.awaited;
    return first;
  }
  const names = first.connections.awaited.join(" ");
  if (memory.awaited?.pods !== names) memory.awaited = { pods: names, since: now };
  return observe(paceOf(memory, now));
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

function unknown(
  { failure, inARow, retryInMs }: Extract<DaemonSight, { seen: false }>,
  { object }: Snapshot,
): ProvisionerResult<never> {
  const condition = daemonsUnknown(failure);
  const isKept = inARow < VAIN_QUESTIONS && wasReady(object) && condition.reason !== NOT_PERMITTED;
  return { ...(isKept ? {} : { condition }), requeueAfterMs: retryInMs };
}
