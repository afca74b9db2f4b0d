import type { Decision, Plan } from "./decide.ts";

/** Jobs that wait, as metrics show them. */
interface Pending {
  readonly pending: number;
  /** When the oldest of them was made. */
  readonly oldestAt: number | undefined;
}

/** What a pool does and needs. */
export interface PoolNumbers extends Pending {
  /** What the queue alone asks for, before minimum and maximum. */
  readonly wanted: number;
  readonly busy: number;
  readonly idle: number;
  readonly starting: number;
  readonly draining: number;
}

/** Everything that waits, whether a pool offers its tags or not. */
export interface QueueTotals extends Pending {
  /** Jobs with tags that no pool offers. */
  readonly unmatched: number;
}

/** What is known of the queues of a control plane. */
export interface QueueNumbers {
  /** Unknown while one of the queues is. */
  readonly totals: QueueTotals | undefined;
  /** By name; without those of which nothing is known. */
  readonly pools: ReadonlyMap<string, PoolNumbers>;
}

/** The numbers behind a plan for one organization. While coderd can't be asked there are none. */
export function numbersOf({ decisions, assignments }: Plan): QueueNumbers {
  const oldest = new Map<string, number>();
  for (const each of assignments) {
    if (each.to !== "pool") continue;
    const { name } = each.pool;
    oldest.set(name, Math.min(each.job.createdAt, oldest.get(name) ?? Number.POSITIVE_INFINITY));
  }
  const pools = decisions.flatMap((decision) => {
    const { name } = decision.pool;
    const numbers = poolNumbers(decision, oldest.get(name));
    return numbers ? [[name, numbers] as const] : [];
  });
  const totals = {
    pending: assignments.length,
    oldestAt: earliest(assignments.map(({ job }) => job.createdAt)),
    unmatched: assignments.filter(({ to }) => to === "nobody").length,
  };
  return { totals, pools: new Map(pools) };
}

function poolNumbers(
  { census, demand, pending }: Decision,
  oldestAt: number | undefined,
): PoolNumbers | undefined {
  if (!census || demand === undefined) return undefined;
  const { busy, idle, starting, waiting, draining } = census;
  return { pending, oldestAt, wanted: demand, busy, idle, starting: starting + waiting, draining };
}

/** The numbers of all organizations together; absent stands for one of which nothing is known. */
export function sumNumbers(all: readonly (QueueNumbers | undefined)[]): QueueNumbers {
  const totals = all.flatMap((each) => each?.totals ?? []);
  const sum = {
    pending: totals.reduce((count, { pending }) => count + pending, 0),
    oldestAt: earliest(totals.flatMap(({ oldestAt }) => oldestAt ?? [])),
    unmatched: totals.reduce((count, { unmatched }) => count + unmatched, 0),
  };
  return {
    totals: totals.length === all.length ? sum : undefined,
    pools: new Map(all.flatMap((each) => [...(each?.pools ?? [])])),
  };
}

function earliest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
}
