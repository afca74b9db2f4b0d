import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { basename } from "node:path";

/**
 * Becomes the program, after leaving behind a watcher that holds the other end of our pipe. When
 * this process ends in any way, SIGKILL included, the pipe closes and the watcher kills the program
 * and removes the scratch folder. A line on the pipe dismisses the watcher instead.
 */
const SUPERVISOR = `
scratch=$1; shift
( read -r dismissed <&3 && exit; kill -KILL $$; sleep 1; rm -rf "$scratch" ) &
exec "$@" 3<&-
`;
const LOG_TAIL_LINES = 15;
const GRACE_MS = 10_000;

/** What to run, where its output goes, and what to remove if we die before it. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Instead of our own environment. */
  readonly env?: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly scratch: string;
}

/** A running program that cannot outlive this process. */
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
    // Its own process group: Ctrl-C in a terminal reaches us, and we decide what it means.
    const env = program.env ?? process.env;
    this.#child = spawn("/bin/sh", argv, { stdio: ["ignore", log, log, "pipe"], detached: true, env });
    closeSync(log);
    this.#child.unref();
    const leash = this.#child.stdio[3] as Socket;
    leash.unref();
    // Whoever kills the whole process group takes the watcher along: then nobody is left to dismiss.
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

  /** With what it ended by itself; nothing while it runs and when a signal ended it. */
  get exitCode(): number | undefined {
    return this.#child.exitCode ?? undefined;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#running) process.kill(this.pid, signal);
  }

  /** Ends the program; one that ignores a polite signal for ten seconds is killed. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    // Unreferenced, so that a forgotten cluster keeps no script alive; but here somebody waits.
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
