/**
 * Breaks guards of the code, one at a time, in a copy of the working tree, and reports those that no test misses:
 * `node test/mutants/main.ts [word...]`, by way of `make mutants`. With words only guards that have one of them.
 */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { ScratchCopy } from "./copy.ts";
import { mutants } from "./mutants.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colors are made of
const ANSI = /\u001b\[[0-9;]*m/g;
const words = process.argv.slice(2);
const chosen = mutants.filter(
  ({ guard }) => words.length === 0 || words.some((word) => guard.includes(word)),
);

/** Some broken guards let a test run for ever: that is noticed too. */
const DEADLINE_MS = 3 * 60_000;

type Outcome = "passed" | "failed" | "hung";

async function runTests(
  dir: string,
  tests: readonly string[],
): Promise<{ outcome: Outcome; output: string }> {
  const args = ["run", "--project", "unit", "--bail=1", ...tests];
  const child = spawn("vitest", args, { cwd: dir, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let hung = false;
  const deadline = setTimeout(() => {
    hung = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, DEADLINE_MS);
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const passed = (await code) === 0;
  clearTimeout(deadline);
  return { outcome: hung ? "hung" : passed ? "passed" : "failed", output: output + errors };
}

/** A missing file, or one that does not load, fails as well, but without testing the guard. */
function hasTried(output: string): boolean {
  return /Tests .*\d+ failed/.test(output.replaceAll(ANSI, ""));
}

async function survivors(): Promise<string[]> {
  await using copy = await ScratchCopy.of(fileURLToPath(new URL("../..", import.meta.url)));
  const all = [...new Set(chosen.flatMap(({ tests }) => tests))];
  const sound = await runTests(copy.dir, all);
  if (sound.outcome !== "passed") throw new Error(`tests fail before anything is broken:\n${sound.output}`);
  const alive: string[] = [];
  for (const mutant of chosen) {
    const startedAt = performance.now();
    const { outcome, output } = await copy.broken(mutant, () => runTests(copy.dir, mutant.tests));
    if (outcome === "failed" && !hasTried(output))
      throw new Error(`${mutant.guard}: no test ran:\n${output}`);
    const took = `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`;
    console.log(
      `${{ passed: "SURVIVED", failed: "caught  ", hung: "hung    " }[outcome]}  ${mutant.guard} (${took})`,
    );
    if (outcome === "passed") alive.push(mutant.guard);
  }
  return alive;
}

const alive = await survivors();
console.log(`${chosen.length - alive.length} of ${chosen.length} broken guards were noticed`);
if (alive.length > 0 || chosen.length === 0) process.exitCode = 1;
