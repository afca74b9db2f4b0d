import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { eventually, type LocalCluster, startCluster } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorAccount } from "../../../lab/cluster.ts";
import { helmBinary } from "../../../tools/helm/binary.ts";
import { blocks, repository } from "../../docs/pages.ts";
import { type GuideCluster, guideCluster } from "./guide-cluster.ts";

const commandsOf = (path: string) =>
  blocks.filter(({ page, language }) => page === path && language === "sh");
const commandBlocks = commandsOf("docs/install.md");

let cluster: LocalCluster;
let bin: string;
beforeAll(async () => {
  // Deleting a namespace takes a controller.
  cluster = await startCluster({ controllerManager: true, operator: operatorAccount });
  bin = await mkdtemp(join(tmpdir(), "coder-k8s-guide-"));
  await symlink(await helmBinary(), join(bin, "helm"));
  await symlink(cluster.connection.kubectlBinary, join(bin, "kubectl"));
});
afterAll(async () => {
  await cluster?.stop();
  await rm(bin, { recursive: true, force: true });
});

/** Runs commands as a reader would, in a shell at the root of a checkout. */
async function run(commands: string, extraEnv = {}): Promise<{ output: string; code: number }> {
  const identity = { HOME: bin, KUBECONFIG: cluster.admin.kubeconfig };
  const env = { PATH: `${bin}:${process.env.PATH}`, ...identity, ...extraEnv };
  const shell = spawn("/bin/sh", ["-e", "-c", `exec 2>&1\n${commands}`], { cwd: repository, env });
  const code = new Promise<number>((resolve) => shell.once("close", (status) => resolve(status ?? -1)));
  return { output: await text(shell.stdout), code: await code };
}

describe("the way from zero to a control plane", { timeout: 180_000 }, () => {
  let town: GuideCluster;
  beforeAll(async () => {
    town = await guideCluster(cluster);
  });
  afterAll(() => town?.[Symbol.asyncDispose]());

  test.for(commandsOf("docs/tutorials/from-zero.md"))(
    "follows the commands at $page:$line",
    async ({ text: commands }) => {
      const { output, code } = await run(commands, { DATABASE_URL: town.databaseUrl });
      expect(code, output).toBe(0);
    },
  );
});

describe("the guide to installing", { timeout: 120_000 }, () => {
  test.for(commandBlocks)("has commands that succeed at $page:$line", async ({ text: commands }) => {
    const succeeds = async () => {
      const { output, code } = await run(commands);
      expect(code, output).toBe(0);
    };
    // A kind is known a moment after its CRD; who only looks may look again.
    const onlyLooks = /^(kubectl get .*\n)+$/.test(commands);
    await (onlyLooks ? eventually(succeeds, { withinMs: 30_000 }) : succeeds());
  });
});

test("a release that has taken plain manifests over, as the guide ends, can be changed", {
  timeout: 120_000,
}, async () => {
  // kubectl stays an owner of every field until helm has changed it once.
  const chart = "coder-k8s charts/coder-k8s --namespace coder-system";
  const { output, code } = await run(`helm upgrade ${chart} --set replicas=3 --force-conflicts`);
  expect(code, output).toBe(0);
  const replicas = ["-o", "jsonpath={.spec.replicas}"];
  const { stdout } = await cluster.kubectl(["get", "deploy/coder-k8s", "-n", "coder-system", ...replicas]);
  expect(stdout).toBe("3");
});

describe("the guide's command for finalizers of an operator that is gone", { timeout: 120_000 }, () => {
  const command = commandBlocks.find(({ text }) => text.includes("/metadata/finalizers/"))?.text ?? "";
  const foreign = "example.com/keep";
  const guarded = [
    { kind: "CoderControlPlane", finalizers: ["coder.com/workspace-rbac-cleanup"] },
    { kind: "CoderProvisioner", finalizers: ["coder.com/provisioner-key-cleanup"] },
    { kind: "CoderWorkspaceProxy", finalizers: [foreign, "coder.com/workspace-proxy-cleanup"] },
  ];

  test("names every finalizer that the operator sets", () => {
    const sources = globSync("src/operator/*/controller.ts", { cwd: repository });
    const set = sources.flatMap(
      (path) => readFileSync(join(repository, path), "utf8").match(/coder\.com\/[\w-]+-cleanup/g) ?? [],
    );
    expect(command.match(/coder\.com\/[\w-]+-cleanup/g)?.toSorted()).toEqual(set.toSorted());
  });

  test("releases objects that were waiting for them, and keeps finalizers of others", async () => {
    // The last command of the guide has installed the CRDs.
    const namespace = await cluster.createNamespace("left-behind");
    const items = guarded.map(({ kind, finalizers }) => ({
      apiVersion: "coder.com/v1alpha1",
      kind,
      metadata: { name: "left", namespace, finalizers },
      spec: kind === "CoderControlPlane" ? {} : { controlPlaneRef: { name: "left" } },
    }));
    await cluster.apply({ apiVersion: "v1", kind: "List", items });
    await cluster.kubectl(["delete", "coder", "--all", "-n", namespace, "--wait=false"]);
    const left = async () => {
      const { stdout } = await cluster.kubectl(["get", "coder", "-n", namespace, "-o", "json"]);
      const { items }: { items: Left[] } = JSON.parse(stdout);
      return items.map(({ kind, metadata }) => [
        kind,
        metadata.finalizers,
        metadata.deletionTimestamp !== undefined,
      ]);
    };
    expect(await left()).toEqual(guarded.map(({ kind, finalizers }) => [kind, finalizers, true]));

    const { output, code } = await run(command);
    expect(code, output).toBe(0);
    expect(await left()).toEqual([["CoderWorkspaceProxy", [foreign], true]]);
  });
});

interface Left {
  readonly kind: string;
  readonly metadata: { readonly finalizers?: string[]; readonly deletionTimestamp?: string };
}
