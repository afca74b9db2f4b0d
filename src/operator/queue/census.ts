import type { ProvisionerDaemon } from "../../coder/provisioning.ts";
import type { Pool, PoolPod } from "./pool.ts";

/** What the pods of a pool are doing, leaving ones apart. */
export interface Census {
  readonly busy: number;
  /** Those of them that a smaller number would take first, because they are not ready. */
  readonly exposed: number;
  readonly idle: number;
  /** Pods that may run a daemon which coderd does not list (yet). */
  readonly starting: number;
  /** Pods whose daemon does not run yet. */
  readonly waiting: number;
  /** Pods on their way out that still have a job. */
  readonly draining: number;
}

/** Counts by pods: a daemon that coderd lists without a pod behind it can't take a job. */
export function takeCensus(
  pools: readonly Pool[],
  daemons: readonly ProvisionerDaemon[],
): ReadonlyMap<Pool, Census> {
  const states = new Map(daemons.map(({ name, status }) => [name, status]));
  return new Map(pools.map((pool) => [pool, countPods(pool, states)]));
}

/** By what coderd says of the daemon of each name. */
function countPods(pool: Pool, states: ReadonlyMap<string, string>): Census {
  const isIn = (state: string) => (pod: PoolPod) => states.get(pod.name) === state;
  const staying = pool.pods.filter(({ isLeaving }) => !isLeaving);
  const [busy, idle] = [staying.filter(isIn("busy")).length, staying.filter(isIn("idle")).length];
  const exposed = staying.filter((pod) => isIn("busy")(pod) && !pod.isReady).length;
  const silent = staying.filter((pod) => !isIn("busy")(pod) && !isIn("idle")(pod));
  const waiting = silent.filter(({ startedAt }) => startedAt === undefined).length;
  return {
    busy,
    exposed,
    idle,
    waiting,
    starting: silent.length - waiting,
    draining: pool.pods.filter((pod) => pod.isLeaving && isIn("busy")(pod)).length,
  };
}
