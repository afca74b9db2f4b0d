import type { PoolNumbers, QueueNumbers } from "../queue-numbers.ts";
import type { Decision, Plan } from "./decide.ts";

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
