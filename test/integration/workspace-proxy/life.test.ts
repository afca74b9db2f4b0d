import { Deployment, Secret, Service } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import {
  bootstrap,
  type Coderd,
  openProxyStage,
  type ProxyStage,
} from "../../support/stages/workspace-proxy.ts";
import { openRealWorld } from "../../support/world/real.ts";

/*
 * The life of a proxy on real parts: the API server with our schemas, under the operator's own role, and sockets to
 * coderd. Everything else that proxies do is tried in `test/world/workspace-proxy`.
 */

const cluster = sharedCluster();
let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(await openRealWorld(cluster), "proxy-life");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

describe("a workspace proxy", () => {
  let coderd: Coderd;
  let token: string;
  beforeAll(async () => {
    coderd = await stage.coderd("coder");
  });

  test("is registered at coderd and has a Secret, pods, a Service and a full status", async () => {
    await stage.create("sydney", bootstrap(coderd, { displayName: "Sydney", icon: "/emojis/1f30d.png" }));
    token = await stage.untilTokenWorks(coderd, "sydney-proxy-token");
    expect(coderd.deployment.proxies).toMatchObject([{ name: "sydney", displayName: "Sydney", token }]);
    expect(await stage.untilRegistered("sydney")).toMatchObject({
      proxyID: coderd.deployment.proxies[0]?.id,
      proxyName: "sydney",
      coderURL: coderd.url,
      proxyTokenSecretRef: { name: "sydney-proxy-token", key: "token" },
      phase: "Pending",
    });
    const { uid } = (await stage.get(CoderWorkspaceProxy, "sydney")).metadata;
    const children = await Promise.all([
      stage.get(Deployment, "wsproxy-sydney"),
      stage.get(Service, "wsproxy-sydney"),
      stage.get(Secret, "sydney-proxy-token"),
    ]);
    for (const { metadata } of children)
      expect(metadata.ownerReferences).toMatchObject([{ uid, controller: true }]);
  });

  test("is Ready once its pods are and coderd calls it ok, and kubectl get shows so", async () => {
    await stage.markReady("wsproxy-sydney");
    Object.assign(coderd.deployment.proxies[0] ?? {}, { status: "ok" });
    await stage.timePasses(5_000);
    await stage.untilCondition("sydney", "Ready", { status: "True", reason: "Serving" });
    const { stdout } = await cluster.kubectl(["get", "cwp", "sydney", "-n", stage.namespace]);
    const [header, row] = stdout.split("\n").map((line) => line.split(/\s{2,}/));
    expect(header?.slice(0, 6)).toEqual(["NAME", "READY", "REASON", "PODS", "REGISTERED", "HEALTH"]);
    expect(row?.slice(0, 6)).toEqual(["sydney", "True", "Serving", "1/1", "true", "ok"]);
  });

  test("gets another token when its Secret is deleted", async () => {
    await stage.delete(Secret, "sydney-proxy-token");
    await stage.eventually(() => expect(coderd.deployment.proxies[0]?.token).not.toBe(token));
    await stage.untilTokenWorks(coderd, "sydney-proxy-token");
  });

  test("is taken off coderd's list when it is deleted", async () => {
    await stage.delete(CoderWorkspaceProxy, "sydney");
    await stage.untilGone(CoderWorkspaceProxy, "sydney");
    expect(coderd.deployment.proxies).toEqual([]);
    expect(await stage.untilEvent("sydney", "Deregistered")).toContain(coderd.url);
  });
});

test("a proxy that names a control plane is registered with its operator token and runs its image", async () => {
  const coderd = await stage.controlPlane("coder-two", { image: "ghcr.io/coder/coder:v2.36.1" });
  await stage.create("tokyo", { controlPlaneRef: { name: "coder-two" } });
  await stage.untilTokenWorks(coderd, "tokyo-proxy-token");
  expect(await stage.untilRegistered("tokyo")).toMatchObject({ coderURL: coderd.url });
  expect((await stage.container("tokyo")).image).toBe("ghcr.io/coder/coder:v2.36.1");
});
