import type { ProvisionerDaemon, ProvisionerJob, Tags } from "../../coder/provisioning.ts";

/** What coderd said of one organization, at one moment. */
export interface Queue {
  readonly jobs: readonly ProvisionerJob[];
  readonly daemons: readonly ProvisionerDaemon[];
  /** Whether there may be older jobs that coderd did not list. */
  readonly isCut: boolean;
}

/** What is known of a queue when a decision is due. */
export type QueueSight =
  | { readonly seen: true; readonly queue: Queue }
  /** coderd does not answer, or not to us; `since` is when it last did, or when it was first asked in vain. */
  | { readonly seen: false; readonly since: number };

export interface PoolPod {
  /** Also the name of its daemon at coderd. */
  readonly name: string;
  /** On its way out: it takes no more jobs, and may have to finish one. */
  readonly isLeaving: boolean;
  /** A ReplicaSet removes pods that are not ready before all others, however busy they are. */
  readonly isReady: boolean;
  /** Why its container does not run, or not for long, as a sentence: its daemon takes no work, whatever coderd lists. */
  readonly trouble?: string;
  /** Builds that it began before this are lost: its daemon has ended since. */
  readonly lostBefore?: number;
  /** Since when its daemon may be running. A pod that waits for a node or an image does no work. */
  readonly startedAt?: number;
  /** Since when no node has room for it. */
  readonly unschedulableSince?: number;
}

interface PoolLimits {
  readonly min: number;
  readonly max: number;
  /** Daemons to have free on top of those that have work. */
  readonly minIdle: number;
  readonly scaleDownDelayMs: number;
  /** The higher, the sooner a job that several pools could serve is given to this one. */
  readonly priority: number;
  /** The least to have after coderd was out of reach for ten minutes. */
  readonly fallback: number | undefined;
}

/** The daemons of one CoderProvisioner. One with a fixed number is a pool whose minimum is its maximum. */
export interface Pool extends PoolLimits {
  /** Unique among the pools of its organization. */
  readonly name: string;
  /** The tags of its daemons, scope and owner among them. */
  readonly tags: Tags;
  /** Keys that its daemons use or used: a daemon with one of them but without a pod is no capacity. */
  readonly keyIds: readonly string[];
  /** The number that its Deployment has been asked for. */
  readonly replicas: number;
  readonly pods: readonly PoolPod[];
  readonly isRollingOut: boolean;
  /** How long before coderd starts or stops a workspace by itself one daemon runs, although the minimum is zero. */
  readonly keepWarmMs: number;
  /** Whether that time has come. */
  readonly isKeptWarm: boolean;
  /** Why the number must not change now, as a clause: an upgrade, a license that lapsed. */
  readonly held?: string;
  /** What was wanted lately. */
  readonly history: History;
}

/** A number that was wanted at a time. Each is higher than all after it, so there are few. */
export type History = readonly { readonly at: number; readonly wanted: number }[];

/**
 * The history with one more entry, without what is older than the window and without what a later entry exceeds:
 * its first entry is the highest number that was wanted within the window.
 */
export function remember(history: History, entry: History[number], windowMs: number): History {
  const kept = history.filter(({ at, wanted }) => wanted > entry.wanted && at > entry.at - windowMs);
  return [...kept, entry];
}

export function highestOf(history: History): number {
  return history[0]?.wanted ?? 0;
}

/** Whether its daemon can take a job, if coderd lists it. */
export function isAble({ isReady, trouble }: PoolPod): boolean {
  return isReady && trouble === undefined;
}

/** A node autoscaler brings a node within this time, if it brings one at all. */
const UNSCHEDULABLE_AFTER_MS = 5 * 60_000;

/** Whether more pods would only wait for a node, as others have done for a while. */
export function isStuck({ pods }: Pool, now: number): boolean {
  return pods.some(
    ({ isLeaving, unschedulableSince: since }) =>
      !isLeaving && since !== undefined && now - since >= UNSCHEDULABLE_AFTER_MS,
  );
}
