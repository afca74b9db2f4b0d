import type { QueueNumbers } from "../coderd/ports.ts";
import type { Assignment } from "./assign.ts";
import type { Plan } from "./decide.ts";

/** Numbers of a plan for one organization. Empty while coderd is unavailable. */
export function numbersOf({ decisions, assignments }: Plan): QueueNumbers {
  const given = Map.groupBy(assignments, (each) => (each.to === "pool" ? each.pool.name : undefined));
  const pools = decisions.flatMap(({ pool: { name }, census, demand, pending }) => {
    if (!census || demand === undefined) return [];
    const { busy, idle, starting, waiting, draining } = census;
    const oldestAt = oldestOf(given.get(name) ?? []);
    const numbers = { pending, oldestAt, wanted: demand, busy, idle, starting: starting + waiting, draining };
    return [[name, numbers] as const];
  });
  const totals = {
    pending: assignments.length,
    oldestAt: oldestOf(assignments),
    unmatched: assignments.filter(({ to }) => to === "none").length,
  };
  return { totals, pools: new Map(pools) };
}

function oldestOf(assignments: readonly Assignment[]): number | undefined {
  return earliest(assignments.map(({ job }) => job.createdAt));
}

/** Sum over all organizations. Undefined entries are organizations in an unknown state. */
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
