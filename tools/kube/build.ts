import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type BinaryName, goPackages, kubeModuleDir, type Pins } from "./pins.ts";
import { elapsed, type Log, withTicker } from "./progress.ts";

const ERROR_LINES = 8;

/** No Go on this machine: the caller decides what else to try. */
export class GoMissingError extends Error {
  override readonly name = "GoMissingError";
}

/** Builds one binary from the modules pinned in `go.mod` and returns the finished file. */
export async function buildBinary(
  name: BinaryName,
  into: string,
  context: { env: NodeJS.ProcessEnv; pins: Pins; log: Log },
): Promise<string> {
  const { env, pins, log } = context;
  const output = join(into, name);
  const started = performance.now();
  const progress = new GoProgress();
  log(
    `building ${name} ${name === "etcd" ? pins.etcd : pins.kubernetes} with Go (once; minutes on a slow machine)`,
  );
  const build = spawnGo(buildArguments(name, output, pins), env);
  await withTicker(
    log,
    () => `building ${name}: ${progress.summary()}`,
    () => finished(build, progress, name),
  );
  log(`built ${name} in ${elapsed(performance.now() - started)}`);
  return output;
}

function buildArguments(name: BinaryName, output: string, pins: Pins): string[] {
  // Without it Kubernetes binaries call themselves v0.0.0 and refuse their feature gates.
  const stamp = `-X k8s.io/component-base/version.gitVersion=${pins.kubernetes}`;
  return ["build", "-v", "-trimpath", "-ldflags", `-s -w ${stamp}`, "-o", output, goPackages[name]];
}

function spawnGo(args: string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn("go", args, {
    cwd: kubeModuleDir,
    // No C compiler needed, no workspace or vendoring of the machine's owner in the way.
    env: { ...env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "-mod=readonly" },
    stdio: ["ignore", "ignore", "pipe"],
  });
}

async function finished(build: ChildProcess, progress: GoProgress, name: BinaryName): Promise<void> {
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
