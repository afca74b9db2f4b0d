import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Replica } from "./operators.ts";

/**
 * Files that commands on the screen name, because what they lead to changes: the process that leads, and the log of
 * each replica.
 */
export class Signposts {
  readonly leader: string;
  /** For a shell, which finds the log of every replica by it. */
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

  /** Puts `kubectl coder` in its place: these sources, run by this Node. */
  async placePlugin(): Promise<void> {
    const entry = fileURLToPath(new URL("../src/kubectl-coder.ts", import.meta.url));
    await mkdir(this.programs, { recursive: true });
    const script = `#!/bin/sh\nexec '${process.execPath}' '${entry}' "$@"\n`;
    await writeFile(join(this.programs, "kubectl-coder"), script, { mode: 0o755 });
  }

  /** Makes them lead to what runs now. While nobody leads, the last leader stays. */
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
