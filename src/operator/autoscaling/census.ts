import type { ProvisionerDaemon } from "../../coder/provisioning.ts";
import { canRunJobs, type Pool, type PoolPod } from "./pool.ts";

/** State of the pods of a pool. Terminating pods are counted separately. */
export interface Census {
  readonly busy: number;
  /** Busy daemons whose pods would be deleted first because they are not ready. */
  readonly exposed: number;
  readonly idle: number;
  /** Distinct versions of idle daemons. */
  readonly idleVersions: readonly string[];
  /** Failing pods, those of them whose daemon coderd lists as busy, and the first cause. */
  readonly failing: number;
  readonly failingBusy: number;
  readonly problem: string | undefined;
  /** Running pods whose daemon coderd does not list yet. */
  readonly starting: number;
  /** Names of some of them. */
  readonly unlisted: readonly string[];
  /** Pods whose container is not running yet. */
  readonly waiting: number;
  /** Terminating pods with a job. */
  readonly draining: number;
  /**
   * Names of some daemons that coderd lists with a key of the pool but that have no pod. They cannot run a
   * job.
   */
  readonly podless: readonly string[];
}

const MAX_NAMES = 3;

/** Counts by pod, because a daemon without a pod or with a failing pod cannot run a job. */
export function takeCensus(
  pools: readonly Pool[],
  daemons: readonly ProvisionerDaemon[],
): ReadonlyMap<Pool, Census> {
  const byName = new Map(daemons.map((daemon) => [daemon.name, daemon]));
  const podless = podlessByKey(pools, daemons);
  return new Map(
    pools.map((pool) => {
      const names = pool.keyIds.flatMap((id) => podless.get(id) ?? []);
      return [pool, { ...countPods(pool, byName), podless: few(names) }];
    }),
  );
}

/** `daemons` are keyed by name. */
function countPods(pool: Pool, daemons: ReadonlyMap<string, ProvisionerDaemon>): Omit<Census, "podless"> {
  const isIn = (state: string) => (pod: PoolPod) => daemons.get(pod.name)?.status === state;
  const staying = pool.pods.filter(({ isTerminating }) => !isTerminating);
  const busy = staying.filter(isIn("busy"));
  const failing = staying.filter(({ problem }) => problem !== undefined);
  const idle = staying.filter((pod) => isIn("idle")(pod) && canRunJobs(pod));
  const known = new Set([...busy, ...failing, ...idle]);
  const silent = staying.filter((pod) => !known.has(pod));
  const started = silent.filter(({ startedAt }) => startedAt !== undefined);
  return {
    busy: busy.length,
    exposed: busy.filter(({ isReady }) => !isReady).length,
    idle: idle.length,
    failing: failing.length,
    failingBusy: failing.filter(isIn("busy")).length,
    problem: failing.toSorted((a, b) => (a.name < b.name ? -1 : 1))[0]?.problem,
    idleVersions: [...new Set(idle.flatMap(({ name }) => daemons.get(name)?.version ?? []))],
    starting: started.length,
    unlisted: few(started.map(({ name }) => name)),
    waiting: silent.length - started.length,
    draining: pool.pods.filter((pod) => pod.isTerminating && isIn("busy")(pod)).length,
  };
}

/** Daemons with a key of the pool and without a pod that coderd does not list as offline. */
function podlessByKey(
  pools: readonly Pool[],
  daemons: readonly ProvisionerDaemon[],
): ReadonlyMap<string, readonly string[]> {
  const keys = new Set(pools.flatMap(({ keyIds }) => keyIds));
  const pods = new Set(pools.flatMap((pool) => pool.pods.map(({ name }) => name)));
  const podless = daemons.filter(
    ({ keyId, name, status }) => status !== "offline" && keys.has(keyId) && !pods.has(name),
  );
  const byKey = Map.groupBy(podless, ({ keyId }) => keyId);
  return new Map([...byKey].map(([id, all]) => [id, all.map(({ name }) => name)]));
}

function few(names: readonly string[]): string[] {
  return names.toSorted().slice(0, MAX_NAMES);
}
