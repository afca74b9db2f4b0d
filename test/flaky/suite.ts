import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Conditions } from "./conditions.ts";

export type Part = "unit" | "all";

export interface SuiteRun {
  readonly part: Part;
  readonly conditions: Conditions;
  /** Further arguments for vitest, for instance files. */
  readonly filters: readonly string[];
  /** Where its log and its report go. */
  readonly dir: string;
}

export interface SuiteResult {
  readonly passed: number;
  /** The full names of tests that failed, and of files that did not load. */
  readonly failures: readonly string[];
  readonly logFile: string;
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

/** Runs the suite once, and returns what failed in it. Its own failures to run count as one. */
export async function runSuite({ part, conditions, filters, dir }: SuiteRun): Promise<SuiteResult> {
  await mkdir(dir, { recursive: true });
  const [logFile, reportFile] = [join(dir, `${conditions.seed}.log`), join(dir, `${conditions.seed}.json`)];
  await rm(reportFile, { force: true });
  await using _hogs = occupy(conditions.hogs);
  const code = await vitest(
    [
      ...["--project", "unit", ...(part === "all" ? ["--project", "integration"] : [])],
      // Files alone: the tests of some depend on their order.
      ...["--sequence.shuffle.files", "--sequence.shuffle.tests=false", `--sequence.seed=${conditions.seed}`],
      ...["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`],
      ...filters,
    ],
    { API_DELAY_MS: String(conditions.apiDelayMs), logFile },
  );
  const report = await readFile(reportFile, "utf8").then(
    (text) => JSON.parse(text) as Report,
    () => ({ numPassedTests: 0, testResults: [] }),
  );
  const failures = report.testResults.flatMap(failuresIn);
  if (code !== 0 && failures.length === 0) failures.push(`the run itself: vitest ended with ${code}`);
  return { passed: report.numPassedTests, failures, logFile };
}

function failuresIn({ name, status, assertionResults }: FileReport): string[] {
  const failed = assertionResults.filter((test) => test.status === "failed");
  const names = failed.map(({ fullName }) => `${name}: ${fullName}`);
  return names.length === 0 && status === "failed" ? [`${name} did not load`] : names;
}

/** Threads that compute without end, until they are disposed of or this process ends. */
function occupy(count: number): AsyncDisposable {
  const hogs = Array.from({ length: count }, () => new Worker("for (;;);", { eval: true }));
  return {
    [Symbol.asyncDispose]: async () => void (await Promise.all(hogs.map((hog) => hog.terminate()))),
  };
}

function vitest(
  args: readonly string[],
  { logFile, ...env }: { API_DELAY_MS: string; logFile: string },
): Promise<number> {
  const child = spawn("vitest", ["run", ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = createWriteStream(logFile);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => log.end(() => resolve(code ?? -1)));
  });
}
