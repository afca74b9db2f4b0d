import { eventually } from "kube-controller-runtime/testing";
import { describe, expect, inject, onTestFailed, test } from "vitest";
import { USERNAME } from "../../src/coder/operator-access/account.ts";
import { Platform } from "./support/platform.ts";

/** A deletion may wait two minutes for a coderd that does not answer. */
const GONE_LIMIT = { withinMs: 180_000 };

const POOL = "coderprovisioner/linux";
const PROXY = "coderworkspaceproxy/edge";
const CONTROL_PLANE = "codercontrolplane/coder";

/** What is deleted, one after the other, without waiting in between. */
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  "what depends on it first": [POOL, PROXY, CONTROL_PLANE],
  "the control plane first": [CONTROL_PLANE, PROXY, POOL],
  "the control plane in the middle": [PROXY, CONTROL_PLANE, POOL],
};

/** Kinds of which the operator makes objects. */
const CHILDREN = [
  ...["deployments", "services", "secrets", "serviceaccounts", "pods", "poddisruptionbudgets"],
  ...["roles", "rolebindings", "configmaps", "ingresses"],
].join(",");

describe.runIf(inject("place")?.coder)("deletion in real pods", () => {
  async function opened(prefix: string): Promise<Platform> {
    const platform = await Platform.open(prefix, { pools: { linux: {} } });
    onTestFailed(async () => console.error(await platform.story()));
    const { cluster, namespace } = platform;
    await cluster.apply({
      apiVersion: "coder.com/v1alpha1",
      kind: "CoderWorkspaceProxy",
      metadata: { namespace, name: "edge" },
      spec: { controlPlaneRef: { name: "coder" } },
    });
    await cluster.kubectl([
      "wait",
      "--for=condition=Registered",
      "--timeout=90s",
      PROXY,
      `--namespace=${namespace}`,
    ]);
    expect(await registered(platform)).toEqual({ keys: 1, proxies: 1, tokens: 1 });
    return platform;
  }

  /** What Coder knows of our objects, read where it keeps it. */
  async function registered({ database }: Platform) {
    const count = async (sql: string, ...values: unknown[]) =>
      Number((await database.query(`SELECT count(*) FROM ${sql}`, values))[0]?.count);
    return {
      keys: await count("provisioner_keys WHERE name NOT IN ('built-in', 'user-auth', 'psk')"),
      proxies: await count("workspace_proxies WHERE NOT deleted"),
      tokens: await count("api_keys k JOIN users u ON u.id = k.user_id WHERE u.username = $1", USERNAME),
    };
  }

  /** Names of what the operator made and that is still there. */
  async function children({ cluster }: Platform, namespace: string): Promise<string[]> {
    const selector = "--selector=app.kubernetes.io/managed-by=coder-k8s";
    const names = await cluster.kubectl([
      "get",
      CHILDREN,
      `--namespace=${namespace}`,
      selector,
      "--output=name",
    ]);
    return names.split("\n").filter(Boolean);
  }

  test.each(Object.entries(ORDERS))("leaves nothing with %s", async (_, order) => {
    await using platform = await opened("deletion");
    const { cluster, namespace, workspaceNamespace } = platform;
    expect(await children(platform, workspaceNamespace)).not.toEqual([]);
    for (const object of order)
      await cluster.kubectl(["delete", object, `--namespace=${namespace}`, "--wait=false"]);
    await eventually(async () => {
      expect(await cluster.kubectl(["get", "coder", `--namespace=${namespace}`, "--output=name"])).toBe("");
    }, GONE_LIMIT);
    await eventually(async () => expect(await children(platform, namespace)).toEqual([]), GONE_LIMIT);
    expect(await children(platform, workspaceNamespace)).toEqual([]);
    expect(await registered(platform)).toEqual({ keys: 0, proxies: 0, tokens: 0 });
  });

  // Kubernetes removes the pods first and Secrets before our objects: coderd and its database are out of reach then.
  test("leaves nothing in the cluster with the namespace of Coder", async () => {
    await using platform = await opened("deletion");
    const { cluster, namespace, workspaceNamespace } = platform;
    await cluster.kubectl(["delete", "namespace", namespace, "--timeout=240s"]);
    expect(await children(platform, workspaceNamespace)).toEqual([]);
  });

  test("of the namespace of workspaces is no obstacle to anything", async () => {
    await using platform = await opened("deletion");
    const { cluster, namespace, workspaceNamespace } = platform;
    await cluster.kubectl(["delete", "namespace", workspaceNamespace, "--timeout=120s"]);
    await cluster.kubectl([
      "wait",
      "--for=condition=WorkspaceRBACReady=False",
      "--timeout=60s",
      POOL,
      `--namespace=${namespace}`,
    ]);
    await cluster.kubectl(["delete", "namespace", namespace, "--timeout=240s"]);
  });
});
