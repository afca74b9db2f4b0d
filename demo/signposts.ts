import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Replica } from "./operators.ts";

/**
 * Files that the commands on the screen refer to, because their targets change: the PID of the leader, and
 * the log of each replica.
 */
export class Signposts {
  readonly leader: string;
  /** A shell pattern for the logs of all replicas. */
  readonly logs: string;
  /** For the PATH: kubectl finds its plugin there. */
  readonly programs: string;
  readonly #folder: string;
  #shown = "";

  constructor(folder: string) {
    this.#folder = folder;
    this.programs = join(folder, "bin");
    this.leader = join(folder, "leader.pid");
    this.logs = join(folder, "operator-*.log");
  }

  /** Installs `kubectl coder` there: these sources, run by this Node.js. */
  async placePlugin(): Promise<void> {
    const entry = fileURLToPath(new URL("../src/kubectl-coder.ts", import.meta.url));
    await mkdir(this.programs, { recursive: true });
    const script = `#!/bin/sh\nexec '${process.execPath}' '${entry}' "$@"\n`;
    await writeFile(join(this.programs, "kubectl-coder"), script, { mode: 0o755 });
  }

  /** Updates them. Without a leader, the previous one is kept. */
  async point(replicas: readonly Replica[]): Promise<void> {
    const wanted = JSON.stringify(replicas);
    if (wanted === this.#shown) return;
    this.#shown = wanted;
    const leader = replicas.find(({ leads }) => leads);
    if (leader) await writeFile(this.leader, `${leader.pid}\n`);
    for (const { number, logFile } of replicas) {
      const link = join(this.#folder, `operator-${number}.log`);
      await rm(link, { force: true });
      await symlink(logFile, link);
    }
  }
}
