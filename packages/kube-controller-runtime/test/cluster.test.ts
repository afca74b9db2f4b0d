import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";
import { type ClusterAccess, type LocalCluster, startCluster } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { sharedCluster, sharedClusterWithControllers } from "../../../test/support/cluster/shared.ts";

const configMap = (namespace: string, name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace, name },
  data: { kept: "yes" },
});

const deployment = (namespace: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace, name: "web" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "example.invalid/web:1" }] },
    },
  },
});

async function readyReplicas(
  cluster: { kubectl: LocalCluster["kubectl"] },
  namespace: string,
): Promise<string> {
  const path = "jsonpath={.status.readyReplicas}/{.status.observedGeneration}";
  return (await cluster.kubectl(["get", "deployment", "web", "-n", namespace, "-o", path])).stdout;
}

describe("the shared cluster", () => {
  const cluster = sharedCluster();

  test("gives every caller a separate namespace", async () => {
    const [one, two] = await Promise.all([cluster.createNamespace("same"), cluster.createNamespace("same")]);
    expect(one).not.toBe(two);
    const { stdout } = await cluster.kubectl(["get", "namespaces", "-o", "name"]);
    expect(stdout).toContain(`namespace/${one}\n`);
  });

  test("runs the pinned Kubernetes version", async () => {
    const { stdout } = await cluster.kubectl(["version"]);
    expect(stdout).toContain(`Server Version: v${process.env.KUBE_VERSION ?? "1.36."}`);
  });

  test("allows the operator only what its role permits", async () => {
    const asOperator = ["--kubeconfig", cluster.operator.kubeconfig];
    expect((await cluster.kubectl(["get", "codercontrolplanes", "-A", ...asOperator])).code).toBe(0);
    const { stdout } = await cluster.kubectl(["auth", "can-i", "*", "*", ...asOperator]);
    expect(stdout.trim()).toBe("no");
    const { stderr } = await cluster.kubectl(["get", "nodes", ...asOperator]);
    expect(stderr).toContain(`User "${cluster.operator.user}" cannot list resource "nodes"`);
  });

  test("reports a deployment ready where no controller does", async () => {
    const namespace = await cluster.createNamespace("ready");
    await cluster.apply(deployment(namespace));
    await cluster.markDeploymentReady(namespace, "web");
    expect(await readyReplicas(cluster, namespace)).toBe("2/1");
  });

  test("records who asked for what", async () => {
    const namespace = await cluster.createNamespace("audit");
    await cluster.kubectl(["get", "secret", "absent", "-n", namespace]);
    const recorded = (await cluster.auditRequests()).filter((request) => request.namespace === namespace);
    expect(recorded).toContainEqual(
      expect.objectContaining({ verb: "get", user: "admin", resource: "secrets", name: "absent", code: 404 }),
    );
  });
});

describe("the shared cluster with controllers", () => {
  let cluster: ClusterAccess;
  beforeAll(async () => {
    cluster = await sharedClusterWithControllers();
  });

  test("rolls out a deployment once its pods are marked ready", async () => {
    const namespace = await cluster.createNamespace("rollout");
    await cluster.apply(deployment(namespace));
    await vi.waitFor(
      async () => {
        await cluster.markPodsReady(namespace, "app=web");
        expect(await readyReplicas(cluster, namespace)).toBe("2/1");
      },
      { timeout: 20_000, interval: 200 },
    );
  });

  test("collects what a deleted owner leaves behind", async () => {
    const namespace = await cluster.createNamespace("garbage");
    await cluster.apply(configMap(namespace, "owner"));
    const uid = await cluster.kubectl([
      "get",
      "cm",
      "owner",
      "-n",
      namespace,
      "-o",
      "jsonpath={.metadata.uid}",
    ]);
    const owned = configMap(namespace, "owned");
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: uid.stdout }];
    await cluster.apply({ ...owned, metadata: { ...owned.metadata, ownerReferences } });
    await cluster.kubectl(["delete", "cm", "owner", "-n", namespace]);
    const gone = await cluster.kubectl([
      "wait",
      "--for=delete",
      "cm/owned",
      "-n",
      namespace,
      "--timeout=20s",
    ]);
    expect(gone.code).toBe(0);
  });

  test("takes no report about a deployment that its controllers would contradict", async () => {
    await expect(cluster.markDeploymentReady("default", "web")).rejects.toThrow("mark the pods ready");
  });
});

describe("a cluster of one's own", () => {
  let cluster: LocalCluster;
  beforeAll(async () => {
    cluster = await startCluster({ apiServerFlags: ["--watch-cache=false"] });
  });
  afterAll(() => cluster?.stop());

  test("runs beside others and shares nothing with them", async () => {
    const namespace = await cluster.createNamespace("own");
    const { stdout } = await sharedCluster().kubectl(["get", "namespaces", "-o", "name"]);
    expect(cluster.server).not.toBe(sharedCluster().server);
    expect(stdout).not.toContain(namespace);
  });

  test("keeps its address and data across a restart of the API server", async () => {
    const namespace = await cluster.createNamespace("restart");
    await cluster.apply(configMap(namespace, "before"));
    await cluster.stopApiServer();
    expect((await cluster.kubectl(["get", "namespaces", "--request-timeout=2s"])).code).not.toBe(0);
    await cluster.startApiServer();
    const { stdout } = await cluster.kubectl([
      "get",
      "cm",
      "before",
      "-n",
      namespace,
      "-o",
      "jsonpath={.data.kept}",
    ]);
    expect(stdout).toBe("yes");
  });

  test("answers nothing while etcd is paused and recovers when it resumes", async () => {
    const namespace = await cluster.createNamespace("paused");
    cluster.pauseEtcd();
    try {
      const blocked = await cluster.kubectl(["create", "cm", "x", "-n", namespace, "--request-timeout=1s"]);
      expect(blocked.code).not.toBe(0);
    } finally {
      cluster.resumeEtcd();
    }
    expect((await cluster.kubectl(["create", "cm", "y", "-n", namespace])).code).toBe(0);
  });

  test("a resource version older than a compaction is gone", async () => {
    const namespace = await cluster.createNamespace("compact");
    await cluster.apply(configMap(namespace, "a"));
    const path = (query: string) => ["get", "--raw", `/api/v1/namespaces/${namespace}/configmaps?${query}`];
    const list = JSON.parse((await cluster.kubectl(path("limit=1"))).stdout) as {
      metadata: { resourceVersion: string };
    };
    for (const name of ["b", "c"]) await cluster.apply(configMap(namespace, name));
    await cluster.compactHistory();
    const version = list.metadata.resourceVersion;
    const { stdout } = await cluster.kubectl(path(`watch=true&timeoutSeconds=5&resourceVersion=${version}`));
    expect(stdout).toContain('"code":410');
  });
});

test("killing the process that started a cluster leaves no process and no file behind", async () => {
  const library = new URL("../testing/cluster/cluster.ts", import.meta.url).href;
  const script = `
    const { startCluster } = await import(${JSON.stringify(library)});
    console.log((await startCluster({ controllerManager: true })).caFile);
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = (await once(owner.stdout, "data")) as [Buffer];
  const dir = dirname(dirname(output.toString()));
  expect(await processesOf(dir)).toEqual(
    expect.arrayContaining(["etcd", "kube-apiserver", "kube-controller-manager"]),
  );
  owner.kill("SIGKILL");
  await vi.waitFor(
    async () => {
      expect(await processesOf(dir)).toEqual([]);
      expect(existsSync(dir)).toBe(false);
    },
    { timeout: 10_000, interval: 50 },
  );
});

/** The names of running processes that use a cluster's folder. */
async function processesOf(dir: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "stat,args", "-ww"], { maxBuffer: 1 << 24 });
  const live = stdout.split("\n").filter((line) => line.includes(dir) && !line.startsWith("Z"));
  return live.map((line) => basename(line.split(/\s+/)[1] ?? ""));
}
