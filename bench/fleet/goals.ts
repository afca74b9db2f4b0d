import type { FleetShape } from "./shape.ts";

/** What a fleet must not exceed; what has no goal is absent. */
interface Goals {
  readonly seconds?: number;
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

const GOALS: readonly (FleetShape & { readonly goals: Goals })[] = [
  {
    size: 50,
    latencyMs: 0,
    goals: { seconds: 2.7, requests: 1_000, coderdRequests: 900, entitlementCalls: 100 },
  },
  { size: 50, latencyMs: 100, goals: { seconds: 3.5, coderdRequests: 900, entitlementCalls: 100 } },
  {
    size: 200,
    latencyMs: 0,
    goals: { seconds: 10, requests: 4_000, coderdRequests: 3_600, processorSeconds: 15, peakMB: 140 },
  },
];

const GROWTH_GOALS: readonly { readonly from: number; readonly to: number; readonly times: number }[] = [
  { from: 50, to: 200, times: 4 },
  { from: 200, to: 1_000, times: 5 },
];

export function goalsOf({ size, latencyMs }: FleetShape): Goals {
  return GOALS.find((goal) => goal.size === size && goal.latencyMs === latencyMs)?.goals ?? {};
}

/** How many times as long a fleet of `to` may take as one of `from`. */
export function growthGoal(from: number, to: number): number | undefined {
  return GROWTH_GOALS.find((goal) => goal.from === from && goal.to === to)?.times;
}
