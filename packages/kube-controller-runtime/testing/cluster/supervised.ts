import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { basename } from "node:path";

/**
 * Executes the program, after starting a watcher that holds the other end of a pipe to this process. When
 * this process ends in any way, including SIGKILL, the pipe closes, and the watcher kills the program and
 * removes the scratch folder. A line on the pipe dismisses the watcher instead.
 */
const SUPERVISOR = `
scratch=$1; shift
( read -r dismissed <&3 && exit; kill -KILL $$; sleep 1; rm -rf "$scratch" ) &
exec "$@" 3<&-
`;
const LOG_TAIL_LINES = 15;
const GRACE_MS = 10_000;

/** The command, the file for its output, and the folder to remove if this process dies first. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Replaces the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly scratch: string;
}

/** A program that can't outlive this process. */
export class Supervised {
  readonly #child: ChildProcess;
  readonly #program: Program;
  /** Resolves once the program has ended, for any reason. */
  readonly ended: Promise<void>;
  #running = true;

  constructor(program: Program) {
    this.#program = program;
    const log = openSync(program.logFile, "a");
    const argv = ["-c", SUPERVISOR, "supervisor", program.scratch, program.command, ...program.args];
    // In its own process group, so that Ctrl-C only reaches this process, which decides what to do.
    const env = program.env ?? process.env;
    this.#child = spawn("/bin/sh", argv, { stdio: ["ignore", log, log, "pipe"], detached: true, env });
    closeSync(log);
    this.#child.unref();
    const leash = this.#child.stdio[3] as Socket;
    leash.unref();
    // If the whole process group is killed, the watcher is already gone.
    leash.on("error", () => {});
    this.ended = new Promise((resolve) => {
      this.#child.once("exit", () => {
        this.#running = false;
        leash.end("dismissed\n");
        resolve();
      });
    });
  }

  get name(): string {
    return basename(this.#program.command);
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.name} could not be started`);
    return this.#child.pid;
  }

  get running(): boolean {
    return this.#running;
  }

  /** The exit code; `undefined` while the program runs or if a signal ended it. */
  get exitCode(): number | undefined {
    return this.#child.exitCode ?? undefined;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#running) process.kill(this.pid, signal);
  }

  /** Stops the program; kills it if it ignores the signal for ten seconds. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    // Unreferenced processes do not keep Node.js running, but this wait must.
    this.#child.ref();
    this.signal(signal);
    const kill = setTimeout(() => this.signal("SIGKILL"), GRACE_MS);
    await this.ended.finally(() => clearTimeout(kill));
  }

  /** The last lines of its output, for the error message of a failed start. */
  logTail(): string {
    return readFileSync(this.#program.logFile, "utf8")
      .trimEnd()
      .split("\n")
      .slice(-LOG_TAIL_LINES)
      .join("\n");
  }
}
