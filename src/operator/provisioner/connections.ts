import type { Pod, Stored } from "kube-controller-runtime";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import type { ProvisionerDaemon } from "../../coder/provisioning.ts";
import { timeOf } from "../workload/pods/container-end.ts";
import { isSteadyPod } from "../workload/pods/owned-pods.ts";
import { awaitsAdmission } from "./admit.ts";
import { daemonContainer } from "./daemon-container.ts";
import { daemonNameOf } from "./deployment.ts";
import type { Memory } from "./memory.ts";
import type { Snapshot } from "./observe.ts";
import type { Provisioner } from "./spec.ts";

/** A daemon connects to coderd within seconds of its start, unless something prevents it. */
export const JOINS_WITHIN_MS = 60_000;

/** Which daemons of the pool coderd lists, and with which keys. */
export interface Connections {
  /** Number of ready pods that remain and whose daemon is connected with the current key. */
  readonly connected: number;
  /** Pods that remain and whose daemon is connected with the current key. */
  readonly listed: readonly Stored<Pod>[];
  /** Names of running pods that remain and whose daemon is not connected with the current key. */
  readonly awaited: readonly string[];
  /**
   * Whether the readiness gate of one of them is closed, as in a rollout that keeps the old daemons in the
   * meantime.
   */
  readonly isGateClosed: boolean;
  /** Those that are running now. A pod that crashes at startup is not, for most of the time. */
  readonly silent: readonly string[];
  /** Awaited pods whose daemon has exceeded the time, by name. */
  readonly late: readonly Stored<Pod>[];
  /** Time until the next one exceeds it. */
  readonly nextLateInMs: number | undefined;
  /** Names of daemons that are still building with a replaced key. */
  readonly buildingWithOldKey: readonly string[];
  /** Versions of the connected daemons. */
  readonly versions: readonly string[];
}

/** Whether coderd should be asked, because a daemon may connect at any time. */
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
 * Matches daemons to pods by name and key. coderd lists a daemon for a while after it ended, so a daemon
 * counts only while its pod is ready and not crash-looping.
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

/** Remaining time of its daemon, or undefined if it never ran. */
function lateInMs(pod: Stored<Pod>, now: number): number | undefined {
  const container = daemonContainer(pod);
  // It ended before, so it is not just starting.
  if (container?.lastState?.terminated || container?.state?.terminated) return 0;
  if (!container?.state?.running) return undefined;
  return (timeOf(container.state.running.startedAt) ?? 0) + JOINS_WITHIN_MS - now;
}

export const SOON_MS = 2_000;
const SLOWEST_MS = 60_000;

/** Polling interval while daemons are missing. Increases over time. */
export function pollIntervalMs({ awaited }: Pick<Memory, "awaited">, now: number): number {
  const lastsMs = now - (awaited?.since ?? now);
  return Math.min(Math.max(lastsMs / 10, SOON_MS), SLOWEST_MS);
}

/**
 * Whether coderd permanently refuses to list daemons: it lacks the route, or the user of the token lacks the
 * permission.
 */
export function isListingForbidden(failure: CoderFailure): boolean {
  if (failure.kind === "forbidden") return failure.why === "notPermitted";
  return failure.kind === "notFound" || failure.kind === "unsupported" || failure.kind === "notEntitled";
}
