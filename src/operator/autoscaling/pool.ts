import type { ProvisionerDaemon, ProvisionerJob, Tags } from "../../coder/provisioning.ts";

/** The queue of one organization at one time. */
export interface Queue {
  readonly jobs: readonly ProvisionerJob[];
  readonly daemons: readonly ProvisionerDaemon[];
  /** Whether older jobs may exist that coderd did not list. */
  readonly isCut: boolean;
}

/** What is known about the queue at the time of a decision. */
export type QueueObservation =
  | { readonly seen: true; readonly queue: Queue }
  /** coderd is unavailable. `since` is the time of the last response or of the first failure. */
  | { readonly seen: false; readonly since: number };

export interface PoolPod {
  /** Also the name of its daemon in coderd. */
  readonly name: string;
  /** Terminating: it accepts no more jobs, but may have to finish one. */
  readonly isTerminating: boolean;
  /** A ReplicaSet deletes pods that are not ready first, even if they are busy. */
  readonly isReady: boolean;
  /** Why its container is not running, or crashes. Its daemon accepts no work, even if coderd lists it. */
  readonly problem?: string;
  /** Builds that started earlier are lost, because their daemon has ended. */
  readonly lostBefore?: number;
  /** Time at which its container started. Absent while the pod waits for a node or an image. */
  readonly startedAt?: number;
  /** Since when it cannot be scheduled. */
  readonly unschedulableSince?: number;
}

interface PoolLimits {
  readonly min: number;
  readonly max: number;
  /** Number of idle daemons to keep in addition to busy ones. */
  readonly minIdle: number;
  readonly scaleDownDelayMs: number;
  /** Jobs that match several pools are assigned to the pool with the highest priority. */
  readonly priority: number;
  /** Minimum number of daemons after coderd has been unavailable for ten minutes. */
  readonly fallback: number | undefined;
}

/** The daemons of one CoderProvisioner. A fixed number is both the minimum and the maximum. */
export interface Pool extends PoolLimits {
  /** Unique among the pools of its organization. */
  readonly name: string;
  /** Tags of its daemons, including scope and owner. */
  readonly tags: Tags;
  /** Current and earlier keys of its daemons. A daemon with such a key but without a pod is not counted. */
  readonly keyIds: readonly string[];
  /** Number of replicas of its Deployment. */
  readonly replicas: number;
  readonly pods: readonly PoolPod[];
  readonly isRollingOut: boolean;
  /**
   * Time before a scheduled start or stop of a workspace at which one daemon runs, even with a minimum of
   * zero.
   */
  readonly keepWarmMs: number;
  /** Whether such a time has come. */
  readonly isKeptWarm: boolean;
  /** Why the number must not change now, as a clause: an upgrade, or an expired license. */
  readonly held?: string;
  /** Recently needed numbers. */
  readonly history: History;
}

/** Numbers with their times, in decreasing order, so there are only a few. */
export type History = readonly { readonly at: number; readonly wanted: number }[];

/**
 * Adds an entry and drops entries that are older than the window or lower than a later entry. The first entry
 * is the highest number within the window.
 */
export function remember(history: History, entry: History[number], windowMs: number): History {
  const kept = history.filter(({ at, wanted }) => wanted > entry.wanted && at > entry.at - windowMs);
  return [...kept, entry];
}

export function highestOf(history: History): number {
  return history[0]?.wanted ?? 0;
}

/** Whether its daemon can run a job, if coderd lists it. */
export function canRunJobs({ isReady, problem }: PoolPod): boolean {
  return isReady && problem === undefined;
}

/** A node autoscaler adds a node within this time. */
const UNSCHEDULABLE_AFTER_MS = 5 * 60_000;

/** Whether more pods would be unschedulable, like existing ones. */
export function isUnschedulable({ pods }: Pool, now: number): boolean {
  return pods.some(
    ({ isTerminating, unschedulableSince: since }) =>
      !isTerminating && since !== undefined && now - since >= UNSCHEDULABLE_AFTER_MS,
  );
}
