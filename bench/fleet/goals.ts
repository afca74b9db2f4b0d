import type { FleetShape } from "./shape.ts";

/** What a fleet must not exceed; what has no goal is absent. */
interface Goals {
  readonly requests?: number;
  readonly coderdRequests?: number;
  readonly processorSeconds?: number;
  readonly peakMB?: number;
  readonly entitlementCalls?: number;
}

/** Whatever the size: half of a fleet is ready after this part of the time. */
export const MEDIAN_SHARE_GOAL = 0.6;

/** Whatever the size: a fleet takes at most so many times as long as its writes take a plain client. */
export const YARDSTICK_GOAL = 1.2;

/** Whatever the size: every object has its first status so soon after it was created. */
export const FIRST_STATUS_GOAL_S = 1;

/** Time grows as the number of objects does, to a tenth. */
const LINEAR = 1.1;

/** A coderd that takes 100 ms for each answer may cost a fleet so many times the time of one that answers at once. */
export const SLOW_CODERD_GOAL = 1.3;

/** What a fleet may take in terms of what the same takes the Go operator. */
export const GO_GOALS = { time: 0.25, processorTime: 0.6 };

/*
 * A pair can't do with fewer than 20 requests: two first statuses, two finalizers, eleven objects, the record of a key that
 * is about to be made, two last statuses and two events. One more looks whether somebody has the name of the token's Secret.
 */
const GOALS: readonly (FleetShape & { readonly goals: Goals })[] = [
  { size: 50, latencyMs: 0, goals: { requests: 1_100, coderdRequests: 900, entitlementCalls: 100 } },
  { size: 50, latencyMs: 100, goals: { coderdRequests: 900, entitlementCalls: 100 } },
  {
    size: 200,
    latencyMs: 0,
    goals: { requests: 4_400, coderdRequests: 3_600, processorSeconds: 15, peakMB: 140 },
  },
];

export function goalsOf({ size, latencyMs }: FleetShape): Goals {
  return GOALS.find((goal) => goal.size === size && goal.latencyMs === latencyMs)?.goals ?? {};
}

/** How many times as long a fleet of `to` may take as one of `from`. */
export function growthGoal(from: number, to: number): number {
  return (to / from) * LINEAR;
}
