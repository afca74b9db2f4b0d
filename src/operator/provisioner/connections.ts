import type { Pod, Stored } from "kube-controller-runtime";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import type { ProvisionerDaemon } from "../../coder/provisioning.ts";
import { timeOf } from "../workload/pods/container-end.ts";
import { isSteadyPod } from "../workload/pods/our-pods.ts";
import { awaitsAdmission } from "./admit.ts";
import { daemonContainer } from "./daemon-container.ts";
import { daemonNameOf } from "./deployment.ts";
import type { Memory } from "./memory.ts";
import type { Snapshot } from "./observe.ts";
import type { Provisioner } from "./spec.ts";

/** A daemon joins coderd within a second or two of its start, or something keeps it away. */
export const JOINS_WITHIN_MS = 60_000;

/** Which of our daemons coderd lists, and with which key. */
export interface Connections {
  /** How many pods that stay are ready and have a daemon that is connected with the key in use. */
  readonly connected: number;
  /** Pods that stay, whose daemon is connected with the key in use. */
  readonly listed: readonly Stored<Pod>[];
  /** Names of pods that stay and run, whose daemon is not connected with the key in use. */
  readonly awaited: readonly string[];
  /** Whether one of them can't be ready before that, as in a rollout that keeps the old daemons meanwhile. */
  readonly isGateClosed: boolean;
  /** Those of them that run at this moment, which one that crashes at its start does not for long. */
  readonly silent: readonly string[];
  /** Those awaited, by name, whose daemon has had the time. */
  readonly late: readonly Stored<Pod>[];
  /** When the first of the others has had the time. */
  readonly nextLateInMs: number | undefined;
  /** Names of daemons that still build with a key that was replaced. */
  readonly buildingWithOldKey: readonly string[];
  /** The versions of those connected. */
  readonly versions: readonly string[];
}

/** Whether there is something to ask coderd for: a daemon that may connect at any moment. */
export function isAwaited(
  { connected, awaited, isGateClosed }: Connections,
  { replicas }: Pick<Provisioner, "replicas">,
): boolean {
  return awaited.length > 0 && (connected < replicas || isGateClosed);
}

interface Seen extends Pick<Snapshot, "pods" | "now"> {
  readonly daemons: readonly ProvisionerDaemon[];
}

/**
 * Joins daemons to pods by name and key. coderd lists a daemon for a while after its end, so one counts only while its pod
 * is ready and does not crash again and again.
 */
export function connectionsOf(
  provisioner: Provisioner,
  status: Partial<ProvisionerStatus>,
  { pods, daemons, now }: Seen,
): Connections {
  const inUse = status.provisionerKeyID || undefined;
  const replaced = (status.retiredKeys ?? []).map(({ id }) => id);
  const nameOf = (pod: Stored<Pod>) => daemonNameOf(provisioner, pod);
  const current = daemons.filter(({ keyId, status }) => keyId === inUse && status !== "offline");
  const byName = new Map(current.map((daemon) => [daemon.name, daemon]));
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const missing = staying.filter((pod) => !byName.has(nameOf(pod)));
  const listed = staying.filter((pod) => byName.has(nameOf(pod)));
  const serving = listed.filter((pod) => isSteadyPod(pod, now));
  const awaited = missing
    .flatMap((pod) => {
      const ms = lateInMs(pod, now);
      return ms === undefined ? [] : [{ pod, ms, name: pod.metadata.name }];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const left = awaited.map(({ ms }) => ms).filter((ms) => ms > 0);
  return {
    connected: serving.length,
    listed,
    awaited: awaited.map(({ name }) => name),
    isGateClosed: awaited.some(({ pod }) => awaitsAdmission(pod)),
    silent: awaited.filter(({ pod }) => daemonContainer(pod)?.state?.running).map(({ name }) => name),
    late: awaited.filter(({ ms }) => ms <= 0).map(({ pod }) => pod),
    nextLateInMs: left.length > 0 ? Math.min(...left) : undefined,
    buildingWithOldKey: daemons
      .filter(({ keyId, status }) => status === "busy" && keyId !== inUse && replaced.includes(keyId))
      .map(({ name }) => name),
    versions: serving.flatMap((pod) => byName.get(nameOf(pod))?.version ?? []),
  };
}

/** How long its daemon has left; undefined for one that never ran, which has nothing to be late for. */
function lateInMs(pod: Stored<Pod>, now: number): number | undefined {
  const container = daemonContainer(pod);
  // Whatever it says now: it ended before, so it is not just starting.
  if (container?.lastState?.terminated || container?.state?.terminated) return 0;
  if (!container?.state?.running) return undefined;
  return (timeOf(container.state.running.startedAt) ?? 0) + JOINS_WITHIN_MS - now;
}

export const SOON_MS = 2_000;
const SLOWEST_MS = 60_000;

/** How often coderd is asked while daemons are missing: what lasts is looked at ever less often. */
export function paceOf({ awaited }: Pick<Memory, "awaited">, now: number): number {
  const lastsMs = now - (awaited?.since ?? now);
  return Math.min(Math.max(lastsMs / 10, SOON_MS), SLOWEST_MS);
}

/** Whether coderd refuses to say, and will go on to: it has no such route, or the token's user no such right. */
export function mayNotAsk(failure: CoderFailure): boolean {
  if (failure.kind === "forbidden") return failure.why === "notPermitted";
  return failure.kind === "notFound" || failure.kind === "unsupported" || failure.kind === "notEntitled";
}
