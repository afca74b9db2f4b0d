import type { ProvisionerDaemon, ProvisionerJob, Tags } from "../../coder/provisioning.ts";
import { daemonMatcher } from "../../coder/tags.ts";
import { type Census, takeCensus } from "./census.ts";
import { isStuck, type Pool, type Queue } from "./pool.ts";

/** Who is to serve a job that waits. */
export type Assignment =
  | { readonly job: ProvisionerJob; readonly to: "pool"; readonly pool: Pool }
  /** A daemon that no pool of ours runs is free for it. */
  | { readonly job: ProvisionerJob; readonly to: "others" }
  /** No pool has the tags it asks for. */
  | { readonly job: ProvisionerJob; readonly to: "nobody" };

export interface Assignments {
  readonly census: ReadonlyMap<Pool, Census>;
  /** One for each job that waits, in the order in which daemons take them. */
  readonly all: readonly Assignment[];
}

/** A pool while jobs are handed out. */
interface Candidate {
  readonly pool: Pool;
  free: number;
  room: number;
}

/** Free daemons of no pool with the same tags, while jobs are handed out. */
interface Strangers {
  readonly tags: Tags;
  free: number;
}

/** Who could serve jobs with the same tags, in the order of preference. */
interface Servers {
  readonly pools: readonly Candidate[];
  readonly strangers: readonly Strangers[];
}

/** Whoever runs daemons with more sets of tags than this has pools start daemons that might not be needed. */
const MAX_UNKNOWN = 100;

/**
 * Gives each job that waits to one pool of those that it matches: to one with a free daemon; else to one that has not
 * reached its maximum; of these to the one with the highest priority, then with the fewest tags beyond the job's.
 */
export function assignJobs(pools: readonly Pool[], { jobs, daemons }: Queue, now: number): Assignments {
  const census = takeCensus(pools, daemons);
  const candidates = pools.map((pool) => candidate(pool, census.get(pool), now));
  const others = daemonsOfOthers(pools, daemons);
  const servers = new Map<string, Servers>();
  const serversFor = (tags: Tags): Servers => {
    const key = tagsKey(tags);
    const known = servers.get(key) ?? findServers(candidates, others, tags);
    servers.set(key, known);
    return known;
  };
  const all = inOrder(jobs).map((job) => assign(job, serversFor(job.tags)));
  return { census, all };
}

/** A pool that can't grow now has no more room than it has daemons. */
function candidate(pool: Pool, census: Census | undefined, now: number): Candidate {
  const most = pool.held !== undefined || isStuck(pool, now) ? Math.min(pool.replicas, pool.max) : pool.max;
  return { pool, free: census?.idle ?? 0, room: most - (census?.busy ?? 0) };
}

/** Jobs that wait, as daemons take them. */
function inOrder(jobs: readonly ProvisionerJob[]): ProvisionerJob[] {
  const pending = new Map(jobs.filter(({ status }) => status === "pending").map((job) => [job.id, job]));
  return [...pending.values()].sort(
    (a, b) => a.queuePosition - b.queuePosition || a.createdAt - b.createdAt || compare(a.id, b.id),
  );
}

function assign(job: ProvisionerJob, { pools, strangers }: Servers): Assignment {
  const free = pools.find((each) => each.free > 0);
  const stranger = free ? undefined : strangers.find((each) => each.free > 0);
  if (stranger) {
    stranger.free--;
    return { job, to: "others" };
  }
  const chosen = free ?? pools.find(({ room }) => room > 0) ?? pools[0];
  if (!chosen) return { job, to: "nobody" };
  chosen.free--;
  chosen.room--;
  return { job, to: "pool", pool: chosen.pool };
}

function findServers(candidates: readonly Candidate[], others: readonly Strangers[], tags: Tags): Servers {
  const serves = daemonMatcher(tags);
  const pools = candidates
    .filter(({ pool }) => serves(pool.tags))
    .sort(({ pool: a }, { pool: b }) => byPreference(a, b));
  return { pools, strangers: others.filter((each) => serves(each.tags)) };
}

/** Of pools that could serve the same job, the one first that grows for it. */
export function byPreference(a: Preferred, b: Preferred): number {
  return (
    b.priority - a.priority ||
    Object.keys(a.tags).length - Object.keys(b.tags).length ||
    compare(a.name, b.name)
  );
}

type Preferred = Pick<Pool, "name" | "tags" | "priority">;

/** Free daemons of no pool: coderd's own, or those that somebody runs in another way. Those with the fewest tags first. */
function daemonsOfOthers(pools: readonly Pool[], daemons: readonly ProvisionerDaemon[]): Strangers[] {
  const keys = new Set(pools.flatMap(({ keyIds }) => keyIds));
  const pods = new Set(pools.flatMap(({ pods: all }) => all.map(({ name }) => name)));
  const groups = new Map<string, Strangers & { readonly size: number }>();
  for (const { status, keyId, name, tags } of daemons) {
    if (status !== "idle" || keys.has(keyId) || pods.has(name)) continue;
    const key = tagsKey(tags);
    const group = groups.get(key) ?? { tags, size: Object.keys(tags).length, free: 0 };
    group.free++;
    groups.set(key, group);
  }
  return [...groups]
    .sort(([a, { size }], [b, other]) => size - other.size || compare(a, b))
    .slice(0, MAX_UNKNOWN)
    .map(([, group]) => group);
}

/** Equal for equal tags, and only for them. */
export function tagsKey(tags: Tags): string {
  return JSON.stringify(Object.entries(tags).sort(([a], [b]) => compare(a, b)));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
