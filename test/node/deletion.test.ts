import type { CoreV1Event } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { describe, expect, inject, onTestFailed, test } from "vitest";
import { USERNAME } from "../../src/coder/operator-access/account.ts";
import { TIME_LIMIT } from "./support/cluster.ts";
import { Platform } from "./support/platform.ts";

/** A deletion may wait two minutes for a coderd that does not answer. */
const GONE_LIMIT = { withinMs: 180_000 };

const POOL = "coderprovisioner/linux";
const PROXY = "coderworkspaceproxy/edge";
const CONTROL_PLANE = "codercontrolplane/coder";
const CODERD = ["--selector=app.kubernetes.io/name=coder-control-plane"];

/** What is deleted, one after the other, without waiting in between. */
const ORDERS: readonly (readonly string[])[] = [
  [POOL, PROXY, CONTROL_PLANE],
  [CONTROL_PLANE, PROXY, POOL],
  [PROXY, CONTROL_PLANE, POOL],
];
/** They differ in what the operator does alike. */
const FURTHER_ORDERS: readonly (readonly string[])[] = [
  [PROXY, POOL, CONTROL_PLANE],
  [CONTROL_PLANE, POOL, PROXY],
  [POOL, CONTROL_PLANE, PROXY],
];
const orders = process.env.LONG ? [...ORDERS, ...FURTHER_ORDERS] : ORDERS;

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

  async function messages({ cluster, namespace }: Platform, reason: string): Promise<string[]> {
    const selector = `--field-selector=reason=${reason}`;
    const events = await cluster.list<CoreV1Event>(["events", `--namespace=${namespace}`, selector]);
    return events.map(({ message = "" }) => message);
  }

  test.for(orders)("leaves nothing in the order %s, %s, %s", async (order) => {
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
    const message = `Revoked the operator's token. The user "${USERNAME}" remains in coderd and cannot log in.`;
    // Events are written with a delay.
    await eventually(
      async () => expect(await messages(platform, "TokenRevoked")).toEqual([message]),
      TIME_LIMIT,
    );
  });

  test("leaves nothing, also at coderd and in its database, with the namespace of Coder", async () => {
    await using platform = await opened("deletion");
    const { cluster, namespace, workspaceNamespace } = platform;
    await cluster.kubectl(["delete", "namespace", namespace, "--timeout=240s"]);
    expect(await children(platform, workspaceNamespace)).toEqual([]);
    expect(await registered(platform)).toEqual({ keys: 0, proxies: 0, tokens: 0 });
  });

  test.runIf(process.env.LONG)(
    "names in one event what it can't delete because coderd is unreachable",
    async () => {
      await using platform = await opened("deletion");
      const { cluster, namespace } = platform;
      const { name: key } = (await platform.admin.keys())[0] ?? expect.fail("coderd has no key");
      await cluster.kubectl(["annotate", CONTROL_PLANE, "coder.com/paused=true", `--namespace=${namespace}`]);
      await cluster.kubectl(["scale", "deployment/coder", "--replicas=0", `--namespace=${namespace}`]);
      await cluster.kubectl([
        "wait",
        "--for=delete",
        "pod",
        ...CODERD,
        `--namespace=${namespace}`,
        "--timeout=60s",
      ]);
      await cluster.kubectl(["delete", POOL, `--namespace=${namespace}`, "--timeout=180s"]);
      const left = expect.stringContaining(`Provisioner key "${key}" remains in coderd; delete it manually.`);
      await eventually(
        async () => expect(await messages(platform, "KeyLeftBehind")).toEqual([left]),
        GONE_LIMIT,
      );
      expect(await registered(platform)).toMatchObject({ keys: 1 });
    },
  );

  test("of the namespace of workspaces blocks nothing", async () => {
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
