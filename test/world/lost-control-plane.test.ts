import { type Condition, findCondition, type Kind, type KubeObject } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { openProxyStage, type ProxyStage } from "../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../support/world/memory.ts";

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "lost");
  await stage.controlPlane("coder");
  for (const kind of [CoderProvisioner, CoderWorkspaceProxy] as const) {
    const { apiVersion, kind: name } = kind;
    const spec = { controlPlaneRef: { name: "coder" } };
    await stage.person.create<KubeObject>(
      kind as Kind,
      { apiVersion, kind: name, metadata: stage.ref("edge"), spec } as KubeObject,
    );
  }
  for (const deployment of ["provisioner-edge", "wsproxy-edge"]) await stage.markReady(deployment);
  await stage.eventually(async () => {
    expect(await states(CoderProvisioner)).toMatchObject({ ProvisionerKeyReady: "True", Available: "True" });
    expect(await states(CoderWorkspaceProxy)).toMatchObject({ Registered: "True", Available: "True" });
  });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

interface Reporting extends KubeObject {
  status?: { conditions?: Condition[]; health?: string };
}

async function statusOf(kind: Kind): Promise<NonNullable<Reporting["status"]>> {
  return (await stage.get(kind as Kind<Reporting>, "edge")).status ?? {};
}

async function states(kind: Kind): Promise<Record<string, string>> {
  const { conditions = [] } = await statusOf(kind);
  return Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
}

test("without their control plane a provisioner and a proxy keep what is known, and what can't be known is Unknown", async () => {
  const [pool, proxy] = [await states(CoderProvisioner), await states(CoderWorkspaceProxy)];
  await stage.person.delete(CoderControlPlane, stage.ref("coder"));
  await stage.eventually(async () => {
    expect(await states(CoderProvisioner)).toMatchObject({ ControlPlaneReady: "False", Ready: "False" });
    expect(await states(CoderWorkspaceProxy)).toMatchObject({ CoderdFound: "False", Ready: "False" });
  });
  for (const type of ["ProvisionerKeyReady", "ProvisionerKeySecretReady", "DeploymentReady", "Available"])
    expect(await states(CoderProvisioner)).toHaveProperty(type, pool[type]);
  for (const type of ["ServiceReady", "DeploymentReady", "Available"])
    expect(await states(CoderWorkspaceProxy)).toHaveProperty(type, proxy[type]);
  const { health, conditions } = await statusOf(CoderWorkspaceProxy);
  expect(health).toBe("unknown");
  expect(findCondition(conditions, "Healthy")).toMatchObject({ status: "Unknown", reason: "NotSeen" });
});
