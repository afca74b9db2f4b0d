import { execFile, spawn } from "node:child_process";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A fresh start takes ten seconds or so on an idle machine; this one has other tests to run. */
const STARTED = { withinMs: 100_000 };

/** The demo in a process of its own, with a folder of its own for all that it puts on disk. */
class Demo {
  output = "";
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #kill: (signal: NodeJS.Signals) => void;

  constructor(command: readonly string[], env: NodeJS.ProcessEnv) {
    const [program = "", ...args] = command;
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    }
    this.#kill = (signal) => child.kill(signal);
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve(code ?? signal ?? -1));
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#kill(signal);
  }

  untilPrinted(text: string): Promise<void> {
    return eventually(() => expect(this.output).toContain(text), STARTED);
  }
}

/** A folder for one demo, and what it leaves there and among processes. */
export class Place implements AsyncDisposable {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async make(): Promise<Place> {
    const dir = await mkdtemp(join(tmpdir(), "coder-k8s-demo-test-"));
    // Postgres does not run as root, and has to get at its own folder.
    await chmod(dir, 0o755);
    return new Place(dir);
  }

  start(...command: readonly string[]): Demo {
    return new Demo(command, { TMPDIR: this.dir });
  }

  /** Every process of a demo has a path below its folder among its arguments. */
  async leftovers(): Promise<string[]> {
    const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "args="], { maxBuffer: 1 << 26 });
    const processes = stdout.split("\n").filter((line) => line.includes(this.dir));
    return [...processes, ...(await readdir(this.dir))];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.dir, { recursive: true, force: true });
  }
}
