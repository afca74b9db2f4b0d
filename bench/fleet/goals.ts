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

/*
 * Of requests there were 20 for a pair before every object got a first status, which is two more, and before names were
 * looked at for whom they belong to, which may cost one in ten.
 */
const GOALS: readonly (FleetShape & { readonly goals: Goals })[] = [
  { size: 50, latencyMs: 0, goals: { requests: 1_200, coderdRequests: 900, entitlementCalls: 100 } },
  { size: 50, latencyMs: 100, goals: { coderdRequests: 900, entitlementCalls: 100 } },
  {
    size: 200,
    latencyMs: 0,
    goals: { requests: 4_800, coderdRequests: 3_600, processorSeconds: 15, peakMB: 140 },
  },
];

export function goalsOf({ size, latencyMs }: FleetShape): Goals {
  return GOALS.find((goal) => goal.size === size && goal.latencyMs === latencyMs)?.goals ?? {};
}

/** How many times as long a fleet of `to` may take as one of `from`. */
export function growthGoal(from: number, to: number): number {
  return (to / from) * LINEAR;
}
