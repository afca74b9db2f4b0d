import { spawn } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { helmBinary } from "../../../tools/helm/binary.ts";
import type { TestCluster } from "./test-cluster.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const PLUGIN = join(repository, "src/kubectl-coder.ts");

/** Who types the commands of a page, with helm, kubectl and its plugin, and nothing else of this machine's user. */
export class Reader implements AsyncDisposable {
  readonly folder: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.folder = folder;
    this.#env = env;
  }

  static async of({ kubeconfig, kubectl }: TestCluster): Promise<Reader> {
    const folder = await mkdtemp(join(tmpdir(), "coder-k8s-reader-"));
    await symlink(await helmBinary(), join(folder, "helm"));
    if (kubectl !== "kubectl") await symlink(kubectl, join(folder, "kubectl"));
    const script = `#!/bin/sh\nexec '${process.execPath}' '${PLUGIN}' "$@"\n`;
    await writeFile(join(folder, "kubectl-coder"), script, { mode: 0o755 });
    const path = [folder, dirname(process.execPath), process.env.PATH].join(":");
    return new Reader(folder, { PATH: path, HOME: folder, KUBECONFIG: kubeconfig, KUBERC: "off" });
  }

  /** Runs commands in a shell at the root of the checkout, or in the folder given; returns what was to see. */
  async types(
    commands: string,
    { env = {}, cwd = repository }: { env?: object; cwd?: string } = {},
  ): Promise<string> {
    const script = `exec 2>&1\n${commands}`;
    const shell = spawn("/bin/sh", ["-e", "-c", script], { cwd, env: { ...this.#env, ...env } });
    const ended = new Promise<number | null>((resolve) => shell.once("close", resolve));
    const output = await text(shell.stdout);
    expect(await ended, `${commands}\n${output}`).toBe(0);
    return output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
