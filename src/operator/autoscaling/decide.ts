import { type Assignment, assignJobs } from "./assign.ts";
import type { Census } from "./census.ts";
import {
  type History,
  highestOf,
  isUnschedulable,
  type Pool,
  type QueueObservation,
  remember,
} from "./pool.ts";

/** Time without coderd after which a pool falls back to the configured number. */
const FALLBACK_AFTER_MS = 10 * 60_000;

/** Minimum outage before a lowered maximum removes daemons that may be busy. */
const CAP_AFTER_MS = 60_000;

/** Why a pool gets its number of daemons. */
type Cause =
  /** The number matches the queue, or is being increased. */
  | "following"
  /** Excess daemons are kept because more were needed within the delay. */
  | "delayed"
  /** Excess daemons are kept because they are, or may be, busy. */
  | "working"
  /** Excess daemons are kept because a busy one would be removed first. */
  | "exposed"
  /** Excess daemons are kept until the rollout completes. */
  | "rollingOut"
  /** Excess daemons are kept because not all jobs are listed. */
  | "cut"
  /** The number is not increased because recent pods could not be scheduled. */
  | "unschedulable"
  | "held"
  /** coderd is unavailable, so the number does not change. */
  | "blind"
  /** coderd is unavailable, and the number exceeds the maximum. */
  | "capped"
  /** coderd has been unavailable for long enough to use the fallback. */
  | "fallback";

export interface Decision {
  readonly pool: Pool;
  /** Number of daemons to request. */
  readonly replicas: number;
  readonly cause: Cause;
  /**
   * Number of daemons that the queue requires, before limits are applied. Unknown while coderd is
   * unavailable.
   */
  readonly demand: number | undefined;
  /** Jobs that are waiting for this pool. */
  readonly pending: number;
  readonly census: Census | undefined;
  /** Input of the next decision. */
  readonly history: History;
}

/** Decisions for all pools of one organization, and the assignment of each waiting job. */
export interface Plan {
  readonly decisions: readonly Decision[];
  readonly assignments: readonly Assignment[];
}

/** Decides the number of daemons for each pool of one organization, independent of the order of the pools. */
export function decide(pools: readonly Pool[], observation: QueueObservation, now: number): Plan {
  if (!observation.seen)
    return {
      decisions: pools.map((pool) => decideWithoutQueue(pool, now - observation.since, now)),
      assignments: [],
    };
  const { census, all: assignments } = assignJobs(pools, observation.queue, now);
  const given = Map.groupBy(assignments, (each) => (each.to === "pool" ? each.pool : undefined));
  const decisions = [...census].map(([pool, counted]) =>
    decideByDemand(pool, {
      census: counted,
      pending: given.get(pool)?.length ?? 0,
      isCut: observation.queue.isCut,
      now,
    }),
  );
  return { decisions, assignments };
}

/** The history during the outage is unknown, so the delay restarts when coderd responds again. */
function decideWithoutQueue(pool: Pool, blindMs: number, now: number): Decision {
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
  const history = remember(initialHistory(pool, now), { at: now, wanted }, pool.scaleDownDelayMs);
  return { pool, ...move(pool, { wanted, census, isCut, history, now }), demand, pending, census, history };
}

/** Before the first poll, the current number counts as needed. */
function initialHistory({ history, replicas, max }: Pool, now: number): History {
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
    const isRaised = replicas < pool.min || !isUnschedulable(pool, now);
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

/** Number of pods that certainly have no job, including missing ones. */
function removable({ pods, replicas }: Pool, { idle, waiting, failing, failingBusy }: Census): number {
  const existing = pods.filter(({ isTerminating }) => !isTerminating).length;
  return idle + waiting + failing - failingBusy + Math.max(replicas - existing, 0);
}
