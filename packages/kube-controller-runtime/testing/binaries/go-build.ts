import { type ChildProcess, spawn } from "node:child_process";
import { setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { GoModule } from "./go-module.ts";
import { elapsed, type Log, withTicker } from "./progress.ts";

const ERROR_LINES = 8;
/** A build takes minutes and all cores; whoever works on the machine meanwhile comes first. */
const LOW_PRIORITY = 10;

/** No Go on this machine: the caller decides what else to try. */
export class GoMissingError extends Error {
  override readonly name = "GoMissingError";
}

/** A program that can be built from pinned modules. */
export interface GoBinary {
  readonly name: string;
  readonly module: GoModule;
  readonly package: string;
  readonly version: string;
  /** `variable=value` to link in: where the program keeps its version. */
  readonly stamp: string;
  /** A build tag, where one leaves out what nobody needs here. */
  readonly tag?: string;
}

/** Builds one binary and returns the finished file. */
export async function buildBinary(
  binary: GoBinary,
  into: string,
  { env, log }: { env: NodeJS.ProcessEnv; log: Log },
): Promise<string> {
  const { name, version } = binary;
  const output = join(into, name);
  const started = performance.now();
  const progress = new GoProgress();
  log(`building ${name} ${version} with Go (once; minutes on a slow machine)`);
  const build = spawnGo(binary, output, env);
  await withTicker(
    log,
    () => `building ${name}: ${progress.summary()}`,
    () => finished(build, progress, name),
  );
  log(`built ${name} in ${elapsed(performance.now() - started)}`);
  return output;
}

function spawnGo(binary: GoBinary, output: string, env: NodeJS.ProcessEnv): ChildProcess {
  const linkerFlags = `-s -w -X ${binary.stamp}`;
  const args = [
    "build",
    "-v",
    "-trimpath",
    "-buildvcs=false",
    ...(binary.tag ? ["-tags", binary.tag] : []),
    "-ldflags",
    linkerFlags,
    "-o",
    output,
    binary.package,
  ];
  const build = spawn("go", args, {
    cwd: binary.module.dir,
    // No C compiler needed, no workspace or vendoring of the machine's owner in the way.
    env: { ...env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "-mod=readonly" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (build.pid !== undefined) lowerPriority(build.pid);
  return build;
}

/** What the process starts inherits it. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, LOW_PRIORITY);
  } catch {
    // It has ended already, or is not ours to slow down: then it runs as it is.
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

/** Reads `go build -v`: one line per module fetched, one per package compiled, the rest are errors. */
class GoProgress {
  #modules = 0;
  #packages = 0;
  readonly #recent: string[] = [];

  add(line: string): void {
    if (line.startsWith("go: downloading ")) this.#modules += 1;
    else if (/^[\w./~-]+$/.test(line)) this.#packages += 1;
    else this.#recent.push(line);
  }

  summary(): string {
    return this.#packages === 0
      ? `${this.#modules} modules downloaded`
      : `${this.#packages} packages compiled`;
  }

  lastLines(): string {
    return this.#recent.slice(-ERROR_LINES).join("\n");
  }
}
