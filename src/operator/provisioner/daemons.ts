import { type ConditionState, findCondition } from "kube-controller-runtime";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { minorOf } from "../../coder/version.ts";
import type { DaemonObservation } from "../coderd/daemons.ts";
import { reasonOf } from "../coderd/failure.ts";
import type { FoundControlPlane } from "../coderd/find-control-plane.ts";
import { CONNECTING } from "../conditions.ts";
import type { PodReport } from "../workload/pods/report.ts";
import type { ProvisionerSession } from "./access.ts";
import { admitAll } from "./admit.ts";
import {
  type Connections,
  connectionsOf,
  isAwaited,
  isListingForbidden,
  JOINS_WITHIN_MS,
  pollIntervalMs,
} from "./connections.ts";
import { keyVariable, urlVariable } from "./deployment.ts";
import { statusOf } from "./key/state.ts";
import type { KeyOutcome } from "./key/step.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { conditionTypes, NOT_PERMITTED, type ProvisionerResult, waiting } from "./status.ts";

/** Maximum age of a result while nothing is expected to change. */
const MAX_ANSWER_AGE_MS = 2 * 60_000;

/** Ignore a single failed request. */
const MIN_REPORTED_FAILURES = 2;

interface DaemonInputs {
  readonly session: ProvisionerSession | undefined;
  readonly outcome: KeyOutcome | undefined;
  readonly pods: PodReport | undefined;
}

/**
 * Reports whether coderd lists the daemons of the pods with the current key. The value is the reason if the
 * rollout makes no progress.
 */
export async function confirmDaemons(
  snapshot: Snapshot,
  environment: Environment,
  { session, outcome, pods }: DaemonInputs,
): Promise<ProvisionerResult<{ readonly stalled: string }>> {
  const status = outcome && statusOf(outcome.state);
  if (!session || !status?.organizationID || !status.provisionerKeyID) {
    return { ...unobserved(snapshot), ...soon(await admitUnasked(snapshot)) };
  }
  const { provisioner, now } = snapshot;
  const { memory } = environment;
  const look = await lookAt(status, session, { snapshot, environment });
  if (!look.connections) {
    const result = unknown(look.failure, snapshot);
    if (!isListingForbidden(look.failure.failure)) return result;
    return { ...result, ...soon(Math.min(await admitUnasked(snapshot), look.failure.retryInMs)) };
  }
  const { connections } = look;
  const admissionInMs = await admitAll(connections.listed, snapshot, "Listed");
  const condition = daemonsConnected(snapshot, session, { connections, pods });
  const again = isAwaited(connections, provisioner)
    ? Math.min(pollIntervalMs(memory, now), connections.nextLateInMs ?? MAX_ANSWER_AGE_MS)
    : MAX_ANSWER_AGE_MS;
  const stalled = condition.reason === "Stalled" ? { value: { stalled: condition.message } } : {};
  return { condition, ...soon(Math.min(again, admissionInMs)), ...stalled };
}

/** If coderd cannot be asked for daemons, a running container suffices. */
function admitUnasked(snapshot: Snapshot): Promise<number> {
  return admitAll(snapshot.pods, snapshot, "NotAsked");
}

function soon(ms: number): { requeueAfterMs?: number } {
  return Number.isFinite(ms) ? { requeueAfterMs: ms } : {};
}

type Look =
  | { readonly connections: Connections }
  | { readonly connections?: undefined; readonly failure: Extract<DaemonObservation, { seen: false }> };

/** An old result suffices if it contains all daemons. */
async function lookAt(
  status: Partial<ProvisionerStatus>,
  session: ProvisionerSession,
  { snapshot, environment }: { readonly snapshot: Snapshot; readonly environment: Environment },
): Promise<Look> {
  const { provisioner, now } = snapshot;
  const { memory } = environment;
  // Daemons are counted by pod, so without pods no request is needed.
  if (snapshot.pods.length === 0) {
    delete memory.awaited;
    return { connections: connectionsOf(provisioner, status, { ...snapshot, daemons: [] }) };
  }
  const observe = async (maxAgeMs: number): Promise<Look> => {
    const organizationId = status.organizationID ?? "";
    const observation = await session.observeDaemons(organizationId, maxAgeMs);
    if (!observation.seen) return { failure: observation };
    return { connections: connectionsOf(provisioner, status, { ...snapshot, daemons: observation.value }) };
  };
  const first = await observe(MAX_ANSWER_AGE_MS);
  if (!first.connections || !isAwaited(first.connections, provisioner)) {
    if (first.connections) delete memory.awaited;
    return first;
  }
  const names = first.connections.awaited.join(" ");
  if (memory.awaited?.pods !== names) memory.awaited = { pods: names, since: now };
  return observe(pollIntervalMs(memory, now));
}

function wasReady({ status }: Snapshot["object"]): boolean {
  return findCondition(status?.conditions, conditionTypes.ready)?.status === "True";
}

function unobserved(snapshot: Snapshot): ProvisionerResult<never> {
  const { daemons } = conditionTypes;
  const earlier = findCondition(snapshot.object.status?.conditions, daemons);
  if (!earlier) return waiting(daemons, "Waiting for a provisioner key.", snapshot);
  const message = "The connected daemons are unknown; see the other conditions.";
  return { condition: { status: "Unknown", reason: "NotObserved", message } };
}

function unknown(
  { failure, inARow, retryInMs }: Extract<DaemonObservation, { seen: false }>,
  { object }: Snapshot,
): ProvisionerResult<never> {
  const condition = daemonsUnknown(failure);
  const isKept = inARow < MIN_REPORTED_FAILURES && wasReady(object) && condition.reason !== NOT_PERMITTED;
  return { ...(isKept ? {} : { condition }), requeueAfterMs: retryInMs };
}

/** Whether the desired number of daemons is connected. */
function daemonsConnected(
  snapshot: Snapshot,
  { controlPlane }: ProvisionerSession,
  { connections, pods }: { readonly connections: Connections; readonly pods: PodReport | undefined },
): ConditionState {
  const { provisioner, object } = snapshot;
  const wanted = provisioner.replicas;
  if (wanted === 0) return { status: "True", reason: "ScaledToZero", message: "No daemons are needed." };
  const connected = Math.min(connections.connected, wanted);
  const numbers = `${connected} of ${wanted} daemons are connected to coderd`;
  // New pods that do not connect block a rollout, regardless of the old ones.
  const isHeld = connections.isGateClosed && connections.late.length > 0;
  if (connected === wanted && !isHeld)
    return (
      skew(connections, controlPlane.status.version) ?? {
        status: "True",
        reason: "Connected",
        message: `${numbers}.`,
      }
    );
  const [late] = connections.late;
  // The cause of failing pods also explains missing daemons. If the daemon ran before, the spec may explain
  // why it ended.
  if (pods?.rollout.state === "stalled") {
    const hint = late ? wrongInSpec(snapshot, controlPlane) : undefined;
    const cause = [`${numbers}.`, hint, pods.rollout.cause].filter(Boolean).join(" ");
    return { status: "False", reason: "Stalled", message: cause };
  }
  if (late) {
    const { name, namespace } = late.metadata;
    const story = `Pod "${name}" has run for more than ${JOINS_WITHIN_MS / 1_000} s or has restarted, but coderd does not list its daemon with the current key.`;
    const logs = `See: kubectl -n ${namespace} logs ${name}`;
    const hint =
      wrongInSpec(snapshot, controlPlane) ??
      `The daemon connects to ${urlUsed(snapshot, controlPlane)}; check that its pod can reach this URL (DNS, network policies, proxies, CA certificates).`;
    return { status: "False", reason: "Stalled", message: `${numbers}. ${story} ${hint} ${logs}` };
  }
  return wasReady(object) && pods?.isServing
    ? { status: "True", reason: "Scaling", message: `${numbers}; the others are starting.` }
    : { status: "False", reason: CONNECTING, message: `${numbers}; the others are starting.` };
}

/** coderd considers versions compatible if major and minor match. */
function skew(connections: Connections, coderdVersion: string | undefined): ConditionState | undefined {
  const ours = minorOf(coderdVersion);
  const others = connections.versions.filter((version) => minorOf(version) !== ours);
  if (ours === undefined || others.length === 0) return undefined;
  const versions = [...new Set(others)].sort().slice(0, 3).join(", ");
  const daemons = others.length === 1 ? "1 daemon runs" : `${others.length} daemons run`;
  const message = `All daemons are connected, but ${daemons} version ${versions} while coderd runs ${coderdVersion}; set an image of the same version.`;
  return { status: "True", reason: "VersionSkew", message };
}

/** The connected daemons are unknown. */
function daemonsUnknown(failure: CoderFailure): ConditionState {
  if (isListingForbidden(failure)) {
    const message = `The operator is not permitted to list the daemons of the organization, so ready pods count as connected; use a token of a user with the owner role. ${failure.message}`;
    return { status: "Unknown", reason: NOT_PERMITTED, message };
  }
  const message = `The connected daemons are unknown; until they are known, no key is deleted. ${failure.message}`;
  return { status: "Unknown", reason: reasonOf(failure), message };
}

/** Variables that determine the connection of a daemon. */
const OURS = [urlVariable, keyVariable, "CODER_PROVISIONER_DAEMON_NAME"];

/**
 * Settings in the specs that may prevent a daemon from connecting to a coderd that the operator can reach.
 */
function wrongInSpec(snapshot: Snapshot, controlPlane: FoundControlPlane): string | undefined {
  const { pod } = snapshot.provisioner;
  const changed = pod.extraEnv.find(({ name }) => OURS.includes(name));
  if (changed) return `spec.extraEnv sets ${changed.name}; remove it unless this is intended.`;
  const [secret] = controlPlane.settings.pod.tlsSecretNames;
  const isUntrusted = urlUsed(snapshot, controlPlane).startsWith("https:") && pod.authorities.length === 0;
  return secret && isUntrusted
    ? `coderd serves the certificate in Secret "${secret}", but spec.certs.secrets is empty; add its CA unless a public CA signed the certificate.`
    : undefined;
}

function urlUsed({ deployment }: Snapshot, { url }: FoundControlPlane): string {
  const [container] = deployment?.spec?.template.spec?.containers ?? [];
  return container?.env?.find(({ name }) => name === urlVariable)?.value ?? url;
}
