import type { Policy } from "../../lab/queue/day.ts";

/** The one that the curves show, and what it is compared with. */
export const FOLLOWING: Policy = { name: "follows the queue, 0 to 20", min: 0, max: 20, minIdle: 0 };
export const COMPARED: Policy = { name: "fixed at 10", fixed: 10 };

/** In the order of the tables. */
export const POLICIES: readonly Policy[] = [
  { name: "fixed at 2", fixed: 2 },
  { name: "fixed at 5", fixed: 5 },
  COMPARED,
  { name: "fixed at 20", fixed: 20 },
  FOLLOWING,
  { name: "follows the queue, 1 to 20, 2 idle", min: 1, max: 20, minIdle: 2 },
];
