import { spawn } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { helmBinary } from "../../../tools/helm/binary.ts";
import { blocks, repository } from "../../docs/pages.ts";
import { type LocalCluster, startCluster } from "../../support/cluster/cluster.ts";
import { eventually } from "../../support/eventually.ts";

const commandBlocks = blocks.filter(({ page, language }) => page === "docs/install.md" && language === "sh");

let cluster: LocalCluster;
let bin: string;
beforeAll(async () => {
  // Deleting a namespace takes a controller.
  cluster = await startCluster({ controllerManager: true });
  bin = await mkdtemp(join(tmpdir(), "coder-k8s-guide-"));
  await symlink(await helmBinary(), join(bin, "helm"));
  await symlink(cluster.connection.kubectlBinary, join(bin, "kubectl"));
});
afterAll(async () => {
  await cluster?.stop();
  await rm(bin, { recursive: true, force: true });
});

/** Runs commands as a reader would, in a shell at the root of a checkout. */
async function run(commands: string): Promise<{ output: string; code: number }> {
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: bin, KUBECONFIG: cluster.admin.kubeconfig };
  const shell = spawn("/bin/sh", ["-e", "-c", `exec 2>&1\n${commands}`], { cwd: repository, env });
  const code = new Promise<number>((resolve) => shell.once("close", (status) => resolve(status ?? -1)));
  return { output: await text(shell.stdout), code: await code };
}

describe("the guide to installing", { timeout: 120_000 }, () => {
  test.for(commandBlocks)("$page:$line", async ({ text: commands }) => {
    const succeeds = async () => {
      const { output, code } = await run(commands);
      expect(code, output).toBe(0);
    };
    // A kind is known a moment after its CRD; who only looks may look again.
    const onlyLooks = /^(kubectl get .*\n)+$/.test(commands);
    await (onlyLooks ? eventually(succeeds, { withinMs: 30_000 }) : succeeds());
  });
});
