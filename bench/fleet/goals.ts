import type { FleetShape } from "./shape.ts";

/** The limits of a fleet; absent values have no limit. */
interface Goals {
  readonly coderdRequests?: number;
  readonly processorSeconds?: number;
  readonly peakMB?: number;
  readonly entitlementCalls?: number;
}

/** For any size: half of a fleet is ready within this share of the total time. */
export const MEDIAN_SHARE_GOAL = 0.6;

/** For any size: the maximum ratio of a fleet's time to that of a plain client with the same writes. */
export const YARDSTICK_GOAL = 1.2;

/** For any size: the maximum time from the creation of an object to its first status. */
export const FIRST_STATUS_GOAL_S = 1;

/** Time grows linearly with the number of objects, within ten percent. */
const LINEAR = 1.1;

/** The maximum ratio of the times of a fleet whose coderds respond after 100 ms and of one whose coderds respond at once. */
export const SLOW_CODERD_GOAL = 1.3;

/** The maximum ratio of a fleet's cost to that of the Go operator. */
export const GO_GOALS = { time: 0.25, processorTime: 0.6 };

/**
 * For any size: the maximum number of requests for a pair. It needs the 21 in `test/world/requests.test.ts`; one more is for
 * watches, which all share, and for further statuses of slow starts.
 */
export const PAIR_GOAL = 22;

const GOALS: readonly (FleetShape & { readonly goals: Goals })[] = [
  { size: 50, latencyMs: 0, goals: { coderdRequests: 900, entitlementCalls: 100 } },
  { size: 50, latencyMs: 100, goals: { coderdRequests: 900, entitlementCalls: 100 } },
  {
    size: 200,
    latencyMs: 0,
    goals: { coderdRequests: 3_600, processorSeconds: 15, peakMB: 140 },
  },
];

export function goalsOf({ size, latencyMs }: FleetShape): Goals {
  return GOALS.find((goal) => goal.size === size && goal.latencyMs === latencyMs)?.goals ?? {};
}

/** The maximum ratio of the times of fleets with `to` and `from` members. */
export function growthGoal(from: number, to: number): number {
  return (to / from) * LINEAR;
}
