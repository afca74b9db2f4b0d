/**
 * Looks for tests that fail by chance: runs the suite again and again, in another order and under another load each
 * time. `node test/flaky/main.ts [--runs N] [--part unit|all] [--seed N] [vitest arguments]`, by way of `make flaky`.
 * Each failure is printed with the command that repeats its run.
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { conditionsOf } from "./conditions.ts";
import { type Part, runSuite } from "./suite.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "5" },
    part: { type: "string", default: "all" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
if (values.part !== "unit" && values.part !== "all")
  throw new Error(`PART is unit or all, not ${values.part}`);
const part: Part = values.part;
const runs = Number(values.runs);
const dir = fileURLToPath(new URL("../../.cache/flaky", import.meta.url));

let red = 0;
for (let run = 1; run <= runs; run++) {
  const conditions = conditionsOf(Number(values.seed) + run - 1);
  const { seed, hogs, apiDelayMs } = conditions;
  const startedAt = performance.now();
  const { passed, failures, logFile } = await runSuite({ part, conditions, filters: positionals, dir });
  const took = `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`;
  const under = `seed ${seed}: ${hogs} busy processors, API server ${apiDelayMs} ms late`;
  console.log(`run ${run} of ${runs}, ${under}: ${passed} passed, ${failures.length} failed in ${took}`);
  if (failures.length === 0) continue;
  red++;
  for (const failure of failures) console.log(`  FAILED ${failure}`);
  const filters = positionals.length > 0 ? ` VITEST_FLAGS="${positionals.join(" ")}"` : "";
  console.log(`  log: ${logFile}\n  again: make flaky RUNS=1 PART=${part} SEED=${seed}${filters}`);
}
console.log(`${runs - red} of ${runs} runs green`);
if (red > 0) process.exitCode = 1;
