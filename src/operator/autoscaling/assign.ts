import type { ProvisionerDaemon, ProvisionerJob, Tags } from "../../coder/provisioning.ts";
import { daemonMatcher } from "../../coder/tags.ts";
import { type Census, takeCensus } from "./census.ts";
import { isUnschedulable, type Pool, type Queue } from "./pool.ts";

/** The pool or daemon that should run a waiting job. */
export type Assignment =
  | { readonly job: ProvisionerJob; readonly to: "pool"; readonly pool: Pool }
  /** An idle daemon that does not belong to a pool can run it. */
  | { readonly job: ProvisionerJob; readonly to: "others" }
  /** No pool has its tags. */
  | { readonly job: ProvisionerJob; readonly to: "none" };

export interface Assignments {
  readonly census: ReadonlyMap<Pool, Census>;
  /** One for each waiting job, in the order in which daemons acquire them. */
  readonly all: readonly Assignment[];
}

/** A pool during the assignment. */
interface Candidate {
  readonly pool: Pool;
  free: number;
  room: number;
}

/** Idle daemons with the same tags that do not belong to a pool. */
interface ForeignDaemons {
  readonly tags: Tags;
  free: number;
}

/** Candidates for jobs with the same tags, in order of preference. */
interface Servers {
  readonly pools: readonly Candidate[];
  readonly foreignDaemons: readonly ForeignDaemons[];
}

/** With more distinct sets of tags of foreign daemons, pools may start more daemons than necessary. */
const MAX_UNKNOWN = 100;

/**
 * Assigns each waiting job to one matching pool: preferably one with an idle daemon, then one below its
 * maximum; among these, the one with the highest priority, then with the fewest tags that the job does not
 * need.
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

/** A pool that cannot be scaled up has no room beyond its daemons. */
function candidate(pool: Pool, census: Census | undefined, now: number): Candidate {
  const most =
    pool.held !== undefined || isUnschedulable(pool, now) ? Math.min(pool.replicas, pool.max) : pool.max;
  return { pool, free: census?.idle ?? 0, room: most - (census?.busy ?? 0) };
}

/** Waiting jobs in the order in which daemons acquire them. */
function inOrder(jobs: readonly ProvisionerJob[]): ProvisionerJob[] {
  const pending = new Map(jobs.filter(({ status }) => status === "pending").map((job) => [job.id, job]));
  return [...pending.values()].sort(
    (a, b) => a.queuePosition - b.queuePosition || a.createdAt - b.createdAt || compare(a.id, b.id),
  );
}

function assign(job: ProvisionerJob, { pools, foreignDaemons }: Servers): Assignment {
  const free = pools.find((each) => each.free > 0);
  const foreign = free ? undefined : foreignDaemons.find((each) => each.free > 0);
  if (foreign) {
    foreign.free--;
    return { job, to: "others" };
  }
  const chosen = free ?? pools.find(({ room }) => room > 0) ?? pools[0];
  if (!chosen) return { job, to: "none" };
  chosen.free--;
  chosen.room--;
  return { job, to: "pool", pool: chosen.pool };
}

function findServers(
  candidates: readonly Candidate[],
  others: readonly ForeignDaemons[],
  tags: Tags,
): Servers {
  const serves = daemonMatcher(tags);
  const pools = candidates
    .filter(({ pool }) => serves(pool.tags))
    .sort(({ pool: a }, { pool: b }) => byPreference(a, b));
  return { pools, foreignDaemons: others.filter((each) => serves(each.tags)) };
}

/** Order of pools that match the same job: the first one is scaled up. */
export function byPreference(a: Preferred, b: Preferred): number {
  return (
    b.priority - a.priority ||
    Object.keys(a.tags).length - Object.keys(b.tags).length ||
    compare(a.name, b.name)
  );
}

type Preferred = Pick<Pool, "name" | "tags" | "priority">;

/**
 * Idle daemons that do not belong to a pool: built-in daemons of coderd, or daemons run by other means. Those
 * with the fewest tags come first.
 */
function daemonsOfOthers(pools: readonly Pool[], daemons: readonly ProvisionerDaemon[]): ForeignDaemons[] {
  const keys = new Set(pools.flatMap(({ keyIds }) => keyIds));
  const pods = new Set(pools.flatMap(({ pods: all }) => all.map(({ name }) => name)));
  const groups = new Map<string, ForeignDaemons & { readonly size: number }>();
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

/** Equal if and only if the tags are equal. */
export function tagsKey(tags: Tags): string {
  return JSON.stringify(Object.entries(tags).sort(([a], [b]) => compare(a, b)));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
