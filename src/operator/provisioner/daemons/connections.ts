import type { Pod, Stored } from "kube-controller-runtime";
import type { ProvisionerDaemon } from "../../../coder/provisioning.ts";
import { daemonIsNamedByUid } from "../resources/deployment.ts";
import type { Provisioner } from "../spec.ts";

/** A daemon joins coderd within a second or two of its start, or something keeps it away. */
export const JOINS_WITHIN_MS = 60_000;

/** Which of our daemons coderd lists, and with which key. */
export interface Connections {
  /** How many pods that stay have a daemon that is connected with the key in use. */
  readonly connected: number;
  /** Pods that stay, whose daemon has had the time to connect with the key in use and is not. By name. */
  readonly late: readonly Stored<Pod>[];
  /** When the first of the others that run has had the time. A pod that does not run yet is not waited for here. */
  readonly nextLateInMs: number | undefined;
  /** Names of daemons that still build with a key that was replaced. */
  readonly buildingWithOldKey: readonly string[];
  /** The versions of those connected. */
  readonly versions: readonly string[];
}

/** Whether there is something to ask coderd for: a daemon that may connect at any moment. */
export function isAwaited(
  { connected, late, nextLateInMs }: Connections,
  { replicas }: Pick<Provisioner, "replicas">,
): boolean {
  return connected < replicas && (late.length > 0 || nextLateInMs !== undefined);
}

/** Keys by their identifiers at coderd. */
export interface KeysOfPool {
  readonly inUse: string | undefined;
  readonly replaced: readonly string[];
}

interface Seen {
  readonly pods: readonly Stored<Pod>[];
  readonly daemons: readonly ProvisionerDaemon[];
  readonly now: number;
}

/** Joins daemons to pods by name and key. A daemon without a pod serves nobody: its row outlives it. */
export function connectionsOf(
  provisioner: Provisioner,
  { inUse, replaced }: KeysOfPool,
  { pods, daemons, now }: Seen,
): Connections {
  const nameOf = daemonIsNamedByUid(provisioner)
    ? ({ metadata }: Stored<Pod>) => metadata.uid
    : ({ metadata }: Stored<Pod>) => metadata.name;
  const current = daemons.filter(({ keyId, status }) => keyId === inUse && status !== "offline");
  const byName = new Map(current.map((daemon) => [daemon.name, daemon]));
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const missing = staying.filter((pod) => !byName.has(nameOf(pod)));
  const waits = missing.map((pod) => ({ pod, ms: lateInMs(pod, now) }));
  const pending = waits.flatMap(({ ms }) => (ms !== undefined && ms > 0 ? [ms] : []));
  const late = waits.flatMap(({ pod, ms }) => (ms !== undefined && ms <= 0 ? [pod] : []));
  return {
    connected: staying.length - missing.length,
    late: late.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    nextLateInMs: pending.length > 0 ? Math.min(...pending) : undefined,
    buildingWithOldKey: daemons
      .filter(({ keyId, status }) => status === "busy" && keyId !== inUse && replaced.includes(keyId))
      .map(({ name }) => name),
    versions: staying.flatMap((pod) => byName.get(nameOf(pod))?.version ?? []),
  };
}

/** How long its daemon has left; undefined for one that never ran, which has nothing to be late for. */
function lateInMs({ status }: Stored<Pod>, now: number): number | undefined {
  const [container] = status?.containerStatuses ?? [];
  // Whatever it says now: it ended before, so it is not just starting.
  if (container?.lastState?.terminated || container?.state?.terminated) return 0;
  const startedAt = container?.state?.running?.startedAt;
  if (!container?.state?.running) return undefined;
  return (startedAt ? Date.parse(String(startedAt)) : 0) + JOINS_WITHIN_MS - now;
}
