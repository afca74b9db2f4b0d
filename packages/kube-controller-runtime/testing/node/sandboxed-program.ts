import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import type { StartedProgram } from "../cluster/start.ts";

const LOG_TAIL_LINES = 15;

/** A program that runs in the node's sandbox. */
export class SandboxedProgram implements StartedProgram {
  readonly name: string;
  readonly #logFile: string;
  #running = true;

  constructor(name: string, entering: ChildProcess, logFile: string) {
    this.name = name;
    this.#logFile = logFile;
    const ended = () => {
      this.#running = false;
    };
    entering.once("exit", ended).once("error", ended);
  }

  get running(): boolean {
    return this.#running;
  }

  logTail(): string {
    return readFileSync(this.#logFile, "utf8").trimEnd().split("\n").slice(-LOG_TAIL_LINES).join("\n");
  }

  /** Does nothing: the program ends with the sandbox. */
  async stop(): Promise<void> {}
}
