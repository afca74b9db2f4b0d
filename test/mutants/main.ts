/**
 * Breaks guards of the code, one at a time, in a copy of the working tree, and reports those that no test misses:
 * `node test/mutants/main.ts [word...]`, by way of `make mutants`. With words only guards that have one of them.
 */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { ScratchCopy } from "./copy.ts";
import { mutants } from "./mutants.ts";

const words = process.argv.slice(2);
const chosen = mutants.filter(
  ({ guard }) => words.length === 0 || words.some((word) => guard.includes(word)),
);

async function testsPass(
  dir: string,
  tests: readonly string[],
): Promise<{ passed: boolean; output: string }> {
  const args = ["run", "--project", "unit", "--bail=1", ...tests];
  const child = spawn("vitest", args, { cwd: dir, stdio: ["ignore", "pipe", "pipe"] });
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { passed: (await code) === 0, output: output + errors };
}

async function survivors(): Promise<string[]> {
  await using copy = await ScratchCopy.of(fileURLToPath(new URL("../..", import.meta.url)));
  const all = [...new Set(chosen.flatMap(({ tests }) => tests))];
  const sound = await testsPass(copy.dir, all);
  if (!sound.passed) throw new Error(`tests fail before anything is broken:\n${sound.output}`);
  const alive: string[] = [];
  for (const mutant of chosen) {
    const { passed } = await copy.broken(mutant, () => testsPass(copy.dir, mutant.tests));
    console.log(`${passed ? "SURVIVED" : "caught  "}  ${mutant.guard}`);
    if (passed) alive.push(mutant.guard);
  }
  return alive;
}

const alive = await survivors();
console.log(`${chosen.length - alive.length} of ${chosen.length} broken guards were noticed`);
if (alive.length > 0 || chosen.length === 0) process.exitCode = 1;
