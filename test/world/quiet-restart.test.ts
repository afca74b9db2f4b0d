import { findCondition, type Kind, type KubeObject } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { DaemonPods } from "../support/daemon-pods.ts";
import { openProxyStage, type ProxyStage } from "../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../support/world/memory.ts";

const SIZE = 5;

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "fleet");
  for (let index = 0; index < SIZE; index++) {
    const { deployment } = await stage.controlPlane(`coder-${index}`);
    const spec = { controlPlaneRef: { name: `coder-${index}` } };
    await stage.person.create<KubeObject>(
      CoderProvisioner,
      manifest(CoderProvisioner, `pool-${index}`, spec),
    );
    await stage.person.create<KubeObject>(
      CoderWorkspaceProxy,
      manifest(CoderWorkspaceProxy, `proxy-${index}`, spec),
    );
    await stage.markReady(`provisioner-pool-${index}`);
    await new DaemonPods(stage, () => [deployment]).replace(`pool-${index}`);
    await stage.markReady(`wsproxy-proxy-${index}`);
  }
  await stage.eventually(async () => {
    for (let index = 0; index < SIZE; index++) {
      const { status } = await stage.get(CoderProvisioner, `pool-${index}`);
      expect(findCondition(status?.conditions, "Ready")).toMatchObject({ status: "True" });
      expect((await stage.status(`proxy-${index}`)).registered).toBe(true);
      const plane = await stage.get(CoderControlPlane, `coder-${index}`);
      expect(findCondition(plane.status?.conditions, "Healthy")).toBeDefined();
    }
  });
  await stage.untilIdle();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

function manifest({ apiVersion, kind }: Kind, name: string, spec: object): KubeObject {
  return { apiVersion, kind, metadata: stage.ref(name), spec } as KubeObject;
}

test("a process that takes over a converged fleet makes no write", async () => {
  const before = stage.counters.runs;
  await stage.restart();
  await stage.eventually(() => expect(stage.counters.runs).toBeGreaterThanOrEqual(before + 3 * SIZE));
  await stage.untilIdle();
  const writes = stage.operator.transport.requests.filter(({ method }) => method !== "GET");
  expect(writes.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});
