import type { ProvisionerDaemon } from "../../coder/provisioning.ts";
import { isAble, type Pool, type PoolPod } from "./pool.ts";

/** What the pods of a pool are doing, leaving ones apart. */
export interface Census {
  readonly busy: number;
  /** Those of them that a smaller number would take first, because they are not ready. */
  readonly exposed: number;
  readonly idle: number;
  /** The versions of idle daemons, each once. */
  readonly idleVersions: readonly string[];
  /** Pods that fail, those among them that coderd calls busy, and why the first of all fails. */
  readonly failing: number;
  readonly failingBusy: number;
  readonly trouble: string | undefined;
  /** Pods that may run a daemon which coderd does not list (yet). */
  readonly starting: number;
  /** A few of them by name. */
  readonly unlisted: readonly string[];
  /** Pods whose daemon does not run yet. */
  readonly waiting: number;
  /** Pods on their way out that still have a job. */
  readonly draining: number;
  /** A few daemons that coderd lists with a key of the pool, but that no pod runs. They can't take a job. */
  readonly podless: readonly string[];
}

const MAX_NAMES = 3;

/** Counts by pods: a daemon that coderd lists without a pod behind it, or with one that fails, can't take a job. */
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

/** By what coderd says of the daemon of each name. */
function countPods(pool: Pool, daemons: ReadonlyMap<string, ProvisionerDaemon>): Omit<Census, "podless"> {
  const isIn = (state: string) => (pod: PoolPod) => daemons.get(pod.name)?.status === state;
  const staying = pool.pods.filter(({ isLeaving }) => !isLeaving);
  const busy = staying.filter(isIn("busy"));
  const failing = staying.filter(({ trouble }) => trouble !== undefined);
  const idle = staying.filter((pod) => isIn("idle")(pod) && isAble(pod));
  const known = new Set([...busy, ...failing, ...idle]);
  const silent = staying.filter((pod) => !known.has(pod));
  const started = silent.filter(({ startedAt }) => startedAt !== undefined);
  return {
    busy: busy.length,
    exposed: busy.filter(({ isReady }) => !isReady).length,
    idle: idle.length,
    failing: failing.length,
    failingBusy: failing.filter(isIn("busy")).length,
    trouble: failing.toSorted((a, b) => (a.name < b.name ? -1 : 1))[0]?.trouble,
    idleVersions: [...new Set(idle.flatMap(({ name }) => daemons.get(name)?.version ?? []))],
    starting: started.length,
    unlisted: few(started.map(({ name }) => name)),
    waiting: silent.length - started.length,
    draining: pool.pods.filter((pod) => pod.isLeaving && isIn("busy")(pod)).length,
  };
}

/** Daemons of our keys that no pod of ours runs, and that coderd does not know to be gone. */
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
