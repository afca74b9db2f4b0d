import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, rename } from "node:fs/promises";
import { setPriority } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { GoModule } from "./go-module.ts";
import { GoProgress } from "./go-progress.ts";
import { elapsed, type Log, withTicker } from "./progress.ts";

/** A build takes minutes on all cores, so it runs with low priority. */
const LOW_PRIORITY = 10;

/** Go is not installed: the caller decides what else to try. */
export class GoMissingError extends Error {
  override readonly name = "GoMissingError";
}

/** A program that can be built from pinned modules. */
export interface GoBinary {
  readonly name: string;
  readonly module: GoModule;
  readonly package: string;
  readonly version: string;
  /** `variable=value` for the linker, if the program stores its version in a variable. */
  readonly stamp?: string;
  /** A build tag that excludes unneeded features. */
  readonly tag?: string;
}

/** The environment of a build. */
interface BuildContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/** Builds one binary and returns the finished file. */
export async function buildBinary(binary: GoBinary, into: string, context: BuildContext): Promise<string> {
  await buildBinaries([binary], into, context);
  return join(into, binary.name);
}

/**
 * Builds binaries of one module into a folder, under their names. A single call of Go compiles shared
 * packages once, and links some binaries while it compiles others.
 */
export async function buildBinaries(
  binaries: readonly GoBinary[],
  into: string,
  { env, log }: BuildContext,
): Promise<void> {
  const names = binaries.map(({ name }) => name).join(", ");
  const started = performance.now();
  for (const { name, version } of binaries)
    log(`building ${name} ${version} with Go (once; takes minutes on a slow machine)`);
  const output = join(into, "go");
  const flags = flagsFor(binaries);
  const options = spawnOptions(binaries, env);
  const progress = new GoProgress();
  await mkdir(output, { recursive: true });
  const packages = binaries.map((binary) => binary.package);
  await withTicker(
    log,
    () => `building ${names}: ${progress.summary(performance.now())}`,
    async () => {
      progress.total = await packagesToCompile([...flags, ...packages], options, progress);
      const build = spawnGo(["build", "-v", ...flags, "-o", `${output}/`, ...packages], options);
      await finished(build, progress, names);
    },
  );
  for (const { name, package: built } of binaries)
    await rename(join(output, executableOf(built)), join(into, name));
  log(`built ${names} in ${elapsed(performance.now() - started)}`);
}

/**
 * Go names an executable after the last part of its package, or the part before it if the last is a version.
 */
function executableOf(goPackage: string): string {
  return basename(goPackage.replace(/\/v\d+$/, ""));
}

function flagsFor(binaries: readonly GoBinary[]): string[] {
  const tag = binaries[0]?.tag;
  return [
    "-trimpath",
    "-buildvcs=false",
    ...(tag ? ["-tags", tag] : []),
    ...binaries.flatMap(({ package: goPackage, stamp }) => [
      "-ldflags",
      `${goPackage}=-s -w${stamp ? ` -X ${stamp}` : ""}`,
    ]),
  ];
}

function spawnOptions(binaries: readonly GoBinary[], env: NodeJS.ProcessEnv) {
  const { dir, modFile = "go.mod" } = binaries[0]?.module ?? {};
  const flags = `-mod=readonly${modFile === "go.mod" ? "" : ` -modfile=${modFile}`}`;
  return {
    cwd: dir,
    // Builds without a C compiler, and ignores the user's workspace and vendoring.
    env: { ...env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: flags },
  };
}

/**
 * The number of packages that Go must compile; unknown if it does not report it, in which case the build
 * itself reports the reason. Go downloads modules for this.
 */
async function packagesToCompile(
  what: readonly string[],
  options: ReturnType<typeof spawnOptions>,
  progress: GoProgress,
): Promise<number | undefined> {
  const args = ["list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", ...what];
  const listing = promisify(execFile)("go", args, { ...options, maxBuffer: 1 << 24 });
  const lines = listing.child.stderr && createInterface(listing.child.stderr);
  lines?.on("line", (line) => line.startsWith("go: downloading ") && progress.add(line));
  return listing.then(
    ({ stdout }) => stdout.split("\n").filter(Boolean).length,
    () => undefined,
  );
}

function spawnGo(args: readonly string[], options: ReturnType<typeof spawnOptions>): ChildProcess {
  const build = spawn("go", args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
  if (build.pid !== undefined) lowerPriority(build.pid);
  return build;
}

/** Child processes inherit the priority. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, LOW_PRIORITY);
  } catch {
    // The process has ended or belongs to another user: keep its priority.
  }
}

async function finished(build: ChildProcess, progress: GoProgress, name: string): Promise<void> {
  if (build.stderr) createInterface(build.stderr).on("line", (line) => progress.add(line));
  const code = await new Promise<number | null>((resolve, reject) => {
    build.on("close", resolve);
    build.on("error", (cause: NodeJS.ErrnoException) =>
      reject(cause.code === "ENOENT" ? new GoMissingError("Go is not installed", { cause }) : cause),
    );
  });
  if (code !== 0) throw new Error(`go build of ${name} failed:\n${progress.lastLines()}`);
}
