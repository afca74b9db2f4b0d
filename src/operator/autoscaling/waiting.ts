import type { Tags } from "../../coder/provisioning.ts";
import { closestOffer } from "../../coder/tags.ts";
import { minorOf } from "../../coder/version.ts";
import { JOINS_WITHIN_MS } from "../provisioner/connections.ts";
import { type Assignment, tagsKey } from "./assign.ts";
import type { Decision, Plan } from "./decide.ts";
import { isUnschedulable, type Pool } from "./pool.ts";

/** Why jobs are waiting. */
export type WaitCause =
  /** No pool has the tags. `nearest` is the pool that lacks the fewest. */
  | { readonly kind: "noPool"; readonly nearest?: { readonly pool: string; readonly missing: Tags } }
  | { readonly kind: "atMaximum"; readonly pool: string; readonly max: number }
  | { readonly kind: "unschedulable"; readonly pool: string }
  | { readonly kind: "held"; readonly pool: string; readonly held: string }
  /** Its pods fail. `problem` is a sentence about one of them. */
  | { readonly kind: "failing"; readonly pool: string; readonly problem: string }
  /** Its pods are running, but coderd does not list their daemons. `pods` contains some of them. */
  | { readonly kind: "offline"; readonly pool: string; readonly pods: readonly string[] }
  /** More daemons are starting. `podless` are daemons that coderd still lists without a pod. */
  | { readonly kind: "starting"; readonly pool: string; readonly podless: readonly string[] }
  /** Daemons are idle but have a different major or minor version than coderd. */
  | { readonly kind: "otherVersion"; readonly pool: string; readonly versions: readonly string[] }
  /** A daemon is idle, so coderd will assign the job soon, unless something prevents it. */
  | { readonly kind: "due" };

/** Jobs that are waiting for the same tags and the same reason. */
export interface WaitingJobs {
  readonly tags: Tags;
  readonly count: number;
  /** Creation time of the oldest job. */
  readonly since: number;
  readonly cause: WaitCause;
}

/** Maximum number of groups for which the closest pool is determined. */
const MAX_EXPLAINED_JOBS = 20;

/** Time of the query, and coderd's version if known. */
interface Moment {
  readonly now: number;
  readonly coderdVersion: string | undefined;
}

/** Explains why each job is waiting, the longest waiting first. */
export function waitCauses({ decisions, assignments }: Plan, moment: Moment): WaitingJobs[] {
  const groups = new Map<string, WaitingJobs>();
  const served = new Map<Pool, number>();
  const decided = new Map(decisions.map((decision) => [decision.pool, decision]));
  for (const assignment of assignments) {
    const { tags, createdAt } = assignment.job;
    const cause = causeOf(assignment, { decided, served, ...moment });
    const key = `${cause.kind} ${"pool" in cause ? cause.pool : ""} ${tagsKey(tags)}`;
    const { count, since } = groups.get(key) ?? { count: 0, since: createdAt };
    groups.set(key, { tags, cause, count: count + 1, since: Math.min(since, createdAt) });
  }
  const pools = [...decided.keys()];
  return [...groups.values()]
    .sort((a, b) => a.since - b.since)
    .map((group, index) => (index < MAX_EXPLAINED_JOBS ? withNearest(group, pools) : group));
}

interface Circumstances extends Moment {
  readonly decided: ReadonlyMap<Pool, Decision>;
  /** Number of jobs that each pool was assigned before this one. */
  readonly served: Map<Pool, number>;
}

function causeOf(assignment: Assignment, { decided, served, ...moment }: Circumstances): WaitCause {
  if (assignment.to === "others") return { kind: "due" };
  if (assignment.to === "none") return { kind: "noPool" };
  const { pool } = assignment;
  const before = served.get(pool) ?? 0;
  served.set(pool, before + 1);
  const decision = decided.get(pool);
  return decision
    ? causeInPool(decision, before, moment)
    : { kind: "starting", pool: pool.name, podless: [] };
}

function causeInPool(
  { pool, census, replicas }: Decision,
  before: number,
  { now, coderdVersion }: Moment,
): WaitCause {
  const { name, pods, max } = pool;
  const { busy = 0, idle = 0, idleVersions = [], unlisted = [], podless = [] } = census ?? {};
  const { failing = 0, failingBusy = 0, problem } = census ?? {};
  if (before < idle) {
    const isOther = !idleVersions.some((version) => agree(version, coderdVersion));
    return isOther ? { kind: "otherVersion", pool: name, versions: idleVersions } : { kind: "due" };
  }
  if (pool.held !== undefined) return { kind: "held", pool: name, held: pool.held };
  if (isUnschedulable(pool, now)) return { kind: "unschedulable", pool: name };
  if (problem !== undefined && busy - failingBusy + before >= replicas - failing)
    return { kind: "failing", pool: name, problem };
  if (busy + before >= replicas && replicas >= max) return { kind: "atMaximum", pool: name, max };
  const isLate = pods.some(
    ({ isTerminating, startedAt }) =>
      !isTerminating && startedAt !== undefined && now - startedAt > JOINS_WITHIN_MS,
  );
  if (isLate && unlisted.length > 0) return { kind: "offline", pool: name, pods: unlisted };
  return { kind: "starting", pool: name, podless };
}

/** Compares major and minor versions like coderd. An unknown version matches. */
function agree(version: string, other: string | undefined): boolean {
  const [ours, theirs] = [minorOf(version), minorOf(other)];
  return !ours || !theirs || ours === theirs;
}

function withNearest(group: WaitingJobs, pools: readonly Pool[]): WaitingJobs {
  if (group.cause.kind !== "noPool") return group;
  const nearest = closestOffer(pools, group.tags);
  if (!nearest) return group;
  return { ...group, cause: { kind: "noPool", nearest: { pool: nearest.name, missing: nearest.missing } } };
}
