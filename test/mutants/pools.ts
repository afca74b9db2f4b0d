import type { Mutant } from "./mutant.ts";

/** What keeps builds alive while pools follow coderd's queue. */
export const poolMutants: readonly Mutant[] = [
  {
    guard: "pools: no more daemons are given up than are idle",
    file: "src/operator/autoscaling/decide.ts",
    from: "Math.max(lately, replicas - removable(pool, census))",
    to: "lately",
    tests: ["src/operator/autoscaling"],
  },
  {
    guard: "pools: a busy pod that is not ready keeps its pool from shrinking",
    file: "src/operator/autoscaling/decide.ts",
    from: 'if (census.exposed > 0) return stay("exposed");',
    to: "",
    tests: ["src/operator/autoscaling"],
  },
  {
    guard: "pools: without all marks of busy pods a pool does not shrink",
    file: "src/operator/autoscaling/scale.ts",
    from: "refusal ? withoutScaleDown(decision) : decision",
    to: "decision",
    tests: ["test/world/queue/scaling.test.ts"],
  },
  {
    guard: "pools: a daemon runs before coderd starts a workspace by itself",
    file: "src/operator/autoscaling/keep-warm.ts",
    from: "from: at - chosen.keepWarmMs,",
    to: "from: at,",
    tests: ["src/operator/autoscaling"],
  },
];
