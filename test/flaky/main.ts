/**
 * PollState for tests that fail by chance: runs the suite again and again, in another order and under another load each
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

/** How the run can be repeated. */
function again(seed: number): string {
  const filters = positionals.length > 0 ? ` VITEST_FLAGS="${positionals.join(" ")}"` : "";
  return `make flaky RUNS=1 PART=${part} SEED=${seed}${filters}`;
}

/** Runs once, prints how it went, and returns whether all is well. */
async function runOnce(run: number): Promise<boolean> {
  const conditions = conditionsOf(Number(values.seed) + run - 1);
  const { seed, hogs, apiDelayMs } = conditions;
  console.log(
    `run ${run} of ${runs}, seed ${seed}: ${hogs} busy processors, API server ${apiDelayMs} ms late`,
  );
  const startedAt = performance.now();
  const { passed, failures, logFile } = await runSuite({ part, conditions, filters: positionals, dir });
  const took = `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`;
  console.log(`  ${passed} passed, ${failures.length} failed in ${took}`);
  for (const failure of failures) console.log(`  FAILED ${failure}`);
  if (failures.length > 0) console.log(`  log: ${logFile}\n  again: ${again(seed)}`);
  return failures.length === 0;
}

// So that what a run has started ends too.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

let green = 0;
for (let run = 1; run <= runs; run++) if (await runOnce(run)) green++;
console.log(`${green} of ${runs} runs green`);
if (green < runs) process.exitCode = 1;
