import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Conditions } from "./conditions.ts";

export type Part = "unit" | "all";

/** Long after the end of a run under the heaviest load: what is not over by then hangs. */
const DEADLINE_MS: Readonly<Record<Part, number>> = { unit: 10 * 60_000, all: 45 * 60_000 };

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
  const ended = await vitest(
    [
      ...["--project", "unit", ...(part === "all" ? ["--project", "integration"] : [])],
      // Files alone: the tests of some depend on their order.
      ...["--sequence.shuffle.files", "--sequence.shuffle.tests=false", `--sequence.seed=${conditions.seed}`],
      ...["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`],
      ...filters,
    ],
    { env: { API_DELAY_MS: String(conditions.apiDelayMs) }, logFile, deadlineMs: DEADLINE_MS[part] },
  );
  const report = await readFile(reportFile, "utf8").then(
    (text) => JSON.parse(text) as Report,
    () => ({ numPassedTests: 0, testResults: [] }),
  );
  const failures = report.testResults.flatMap(failuresIn);
  if (ended === "late") failures.push(`the run itself: not over after ${DEADLINE_MS[part] / 60_000} minutes`);
  else if (ended !== 0 && failures.length === 0) failures.push(`the run itself: vitest ended with ${ended}`);
  else if (ended === 0 && report.numPassedTests === 0) failures.push("the run itself: no test was run");
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

interface VitestRun {
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly deadlineMs: number;
}

/** Runs vitest to its end, or to that of its time; its servers end with it. */
function vitest(args: readonly string[], { env, logFile, deadlineMs }: VitestRun): Promise<number | "late"> {
  const child = spawn("vitest", ["run", ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that its workers can be ended with it.
    detached: true,
  });
  const end = () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    end();
  }, deadlineMs);
  // Otherwise it would keep running after this process is stopped.
  process.once("exit", end);
  const log = createWriteStream(logFile);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(deadline);
      process.off("exit", end);
      log.end(() => resolve(late ? "late" : (code ?? -1)));
    });
  });
}
