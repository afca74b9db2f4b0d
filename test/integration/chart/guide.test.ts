import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { helmBinary } from "../../../tools/helm/binary.ts";
import { type LocalCluster, startCluster } from "../../support/cluster/cluster.ts";
import { eventually } from "../../support/eventually.ts";
import { type Helm, helmFor } from "../../support/helm.ts";

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const guide = readFileSync(join(repository, "docs/install.md"), "utf8");
const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs"))].map(
    ([, content]) => content ?? "",
  );

let cluster: LocalCluster;
let helm: Helm;
let bin: string;
beforeAll(async () => {
  // Deleting a namespace takes a controller.
  cluster = await startCluster({ controllerManager: true });
  helm = await helmFor(cluster);
  bin = await mkdtemp(join(tmpdir(), "coder-k8s-guide-"));
  await symlink(await helmBinary(), join(bin, "helm"));
  await symlink(cluster.connection.kubectlBinary, join(bin, "kubectl"));
});
afterAll(async () => {
  await helm?.[Symbol.asyncDispose]();
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
  test.for(blocks("sh").map((commands) => [commands.trim()] as const))("%s", async ([commands]) => {
    const succeeds = async () => {
      const { output, code } = await run(commands);
      expect(code, output).toBe(0);
    };
    // A kind is known a moment after its CRD; who only looks may look again.
    if (commands.split("\n").every((line) => line.startsWith("kubectl get"))) {
      await eventually(succeeds, { withinMs: 30_000 });
    } else await succeeds();
  });

  test.for(blocks("yaml").map((values) => [parse(values) as object] as const))(
    "takes %j as values",
    async ([values]) => {
      const { code, stderr } = await helm.release("template", {
        name: "coder-k8s",
        namespace: "coder-system",
        values,
      });
      expect(code, stderr).toBe(0);
    },
  );
});
