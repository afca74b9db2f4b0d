import { type Assignment, assignJobs } from "./assign.ts";
import type { Census } from "./census.ts";
import { type History, highestOf, isStuck, type Pool, type QueueSight, remember } from "./pool.ts";

/** coderd may be out of reach for so long before a pool falls back to a number that people gave. */
const FALLBACK_AFTER_MS = 10 * 60_000;

/** Minimum outage before a lowered maximum removes daemons that may be busy. */
const CAP_AFTER_MS = 60_000;

/** Why a pool gets the number that it gets. */
type Cause =
  /** What is wanted is what is there, or it is on the way up. */
  | "following"
  /** More daemons than wanted are kept, because more were wanted within the delay. */
  | "delayed"
  /** More daemons than wanted are kept, because they are busy or may be. */
  | "working"
  /** More daemons than wanted are kept, because a busy one would be removed first. */
  | "exposed"
  /** More daemons than wanted are kept until the rollout is over. */
  | "rollingOut"
  /** More daemons than wanted are kept, because not all jobs are listed. */
  | "cut"
  /** Fewer daemons than wanted: no node had room for the last ones for a while. */
  | "unschedulable"
  | "held"
  /** coderd can't be asked, so nothing moves. */
  | "blind"
  /** coderd can't be asked, and more daemons run than people allow. */
  | "capped"
  /** coderd can't be asked for so long that the number given for this case counts. */
  | "fallback";

export interface Decision {
  readonly pool: Pool;
  /** The number of daemons to ask for. */
  readonly replicas: number;
  readonly cause: Cause;
  /** What the queue alone would ask for, before minimum and maximum; unknown while coderd can't be asked. */
  readonly demand: number | undefined;
  /** Jobs that wait for this pool. */
  readonly pending: number;
  readonly census: Census | undefined;
  /** To hand in with the next decision. */
  readonly history: History;
}

/** The decisions for all pools of one organization, and whom each job that waits was given to. */
export interface Plan {
  readonly decisions: readonly Decision[];
  readonly assignments: readonly Assignment[];
}

/** How many daemons each pool of one organization should have. The order of the pools does not matter. */
export function decide(pools: readonly Pool[], sight: QueueSight, now: number): Plan {
  if (!sight.seen)
    return { decisions: pools.map((pool) => decideBlindly(pool, now - sight.since, now)), assignments: [] };
  const { census, all: assignments } = assignJobs(pools, sight.queue, now);
  const given = Map.groupBy(assignments, (each) => (each.to === "pool" ? each.pool : undefined));
  const decisions = [...census].map(([pool, counted]) =>
    decideByDemand(pool, {
      census: counted,
      pending: given.get(pool)?.length ?? 0,
      isCut: sight.queue.isCut,
      now,
    }),
  );
  return { decisions, assignments };
}

/** What happened meanwhile is unknown, so the delay begins anew once coderd answers again. */
function decideBlindly(pool: Pool, blindMs: number, now: number): Decision {
  const { replicas, cause } = moveBlindly(pool, blindMs);
  const history = remember(pool.history, { at: now, wanted: replicas }, pool.scaleDownDelayMs);
  return { pool, replicas, cause, demand: undefined, pending: 0, census: undefined, history };
}

function moveBlindly(pool: Pool, blindMs: number): Pick<Decision, "replicas" | "cause"> {
  const { replicas, max, held } = pool;
  if (held !== undefined) return { replicas, cause: "held" };
  if (replicas > max)
    return blindMs >= CAP_AFTER_MS ? { replicas: max, cause: "capped" } : { replicas, cause: "blind" };
  const fallback = blindMs >= FALLBACK_AFTER_MS ? Math.min(pool.fallback ?? 0, max) : 0;
  return fallback > replicas ? { replicas: fallback, cause: "fallback" } : { replicas, cause: "blind" };
}

interface Known {
  readonly census: Census;
  readonly pending: number;
  readonly isCut: boolean;
  readonly now: number;
}

function decideByDemand(pool: Pool, { census, pending, isCut, now }: Known): Decision {
  const demand = census.busy + pending + pool.minIdle;
  const least = Math.min(pool.isKeptWarm ? Math.max(pool.min, 1) : pool.min, pool.max);
  const wanted = Math.min(Math.max(demand, least), pool.max);
  const history = remember(startedWith(pool, now), { at: now, wanted }, pool.scaleDownDelayMs);
  return { pool, ...move(pool, { wanted, census, isCut, history, now }), demand, pending, census, history };
}

/** Nobody knows what was wanted before the first look: what is there counts as wanted until then. */
function startedWith({ history, replicas, max }: Pool, now: number): History {
  if (history.length === 0) return [{ at: now, wanted: Math.min(replicas, max) }];
  return history.map(({ at, wanted }) => ({ at, wanted: Math.min(wanted, max) }));
}

interface Wish extends Omit<Known, "pending"> {
  readonly wanted: number;
  readonly history: History;
}

function move(
  pool: Pool,
  { wanted, census, isCut, history, now }: Wish,
): Pick<Decision, "replicas" | "cause"> {
  const { replicas } = pool;
  const stay = (cause: Cause) => ({ replicas, cause });
  if (pool.held !== undefined) return stay("held");
  if (wanted > replicas) {
    const isRaised = replicas < pool.min || !isStuck(pool, now);
    return isRaised ? { replicas: wanted, cause: "following" } : stay("unschedulable");
  }
  if (wanted === replicas) return stay("following");
  if (pool.isRollingOut) return stay("rollingOut");
  if (isCut) return stay("cut");
  if (census.exposed > 0) return stay("exposed");
  const lately = highestOf(history);
  const target = Math.max(lately, replicas - removable(pool, census));
  if (target >= replicas) return stay(lately >= replicas ? "delayed" : "working");
  return { replicas: target, cause: target > lately ? "working" : target > wanted ? "delayed" : "following" };
}

/** Pods that certainly have no job, those that do not exist among them. */
function removable({ pods, replicas }: Pool, { idle, waiting, failing, failingBusy }: Census): number {
  const existing = pods.filter(({ isLeaving }) => !isLeaving).length;
  return idle + waiting + failing - failingBusy + Math.max(replicas - existing, 0);
}
