import { Pod, Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "retired");
  coderd = await stage.controlPlane();
});
afterAll(() => stage[Symbol.asyncDispose]());

test("a retired key that can't be deleted keeps none of the others alive", async () => {
  await stage.serve("pool");
  const [organization] = coderd.organizations;
  const { name } = coderd.createKey(organization?.id ?? "", "pool-old", {});
  (await stage.controlPlane("down")).faults.inject({ fault: { kind: "cut" } });
  const lost = { name: "pool-lost", controlPlaneRefName: "down", controlPlaneURL: stage.urlOf("down") };
  const old = { name, controlPlaneRefName: "coder", controlPlaneURL: stage.urlOf("coder") };
  const status = { retiredKeys: [lost, old] };
  await stage.person.patchStatus(CoderProvisioner, stage.ref("pool"), { status });
  await stage.restart();
  await stage.eventually(() => expect(coderd.keys.map((key) => key.name)).not.toContain("pool-old"));
  await stage.eventually(async () => expect((await stage.status("pool")).retiredKeys).toMatchObject([lost]));
  await stage.untilCondition("pool", "ProvisionerKeyReady", { status: "True", reason: "OldKeyLeft" });
});

test("a retired key whose control plane and token are gone is named once and given up", async () => {
  await stage.controlPlane("leaving");
  const before = await stage.serve("orphaned", { controlPlaneRef: { name: "leaving" } });
  await stage.change("orphaned", { controlPlaneRef: { name: "coder" } });
  await stage.untilCondition("orphaned", "ProvisionerKeyReady", { status: "True", reason: "Rotating" });
  await stage.person.delete(Secret, stage.ref("leaving-operator-token"));
  await stage.person.delete(CoderControlPlane, stage.ref("leaving"));
  await stage.restart();
  await stage.rollOut("orphaned");
  expect((await stage.untilSettled("orphaned")).retiredKeys).toBeUndefined();
  await stage.timePasses(5 * 60_000);
  const events = (await stage.events("orphaned")).filter(({ reason }) => reason === "KeyLeftBehind");
  const message = expect.stringContaining(`Provisioner key "${before.provisionerKeyName}" remains in coderd`);
  expect(events).toMatchObject([{ message }]);
});

test("a retired key stays on record while the token's user may not read keys", async () => {
  const before = await stage.serve("demoted", { tags: { a: "1" } });
  await stage.change("demoted", { tags: { a: "2" } });
  await stage.untilCondition("demoted", "ProvisionerKeyReady", { status: "True", reason: "Rotating" });
  const fault = { kind: "answer", status: 200, body: [] } as const;
  const end = coderd.faults.inject({ fault, on: /^GET .*organizations\/.*provisionerkeys$/ });
  await stage.rollOut("demoted");
  await stage.untilCondition("demoted", "ProvisionerKeyReady", { reason: "OldKeyLeft" });
  expect((await stage.status("demoted")).retiredKeys).toMatchObject([{ id: before.provisionerKeyID }]);
  end();
  await stage.timePasses(5 * 60_000);
  await stage.untilSettled("demoted");
  expect(coderd.keys.map(({ id }) => id)).not.toContain(before.provisionerKeyID);
});

test("the key of a pod that ends, and may finish a build, is kept until the pod is gone", async () => {
  const before = await stage.serve("draining", { tags: { a: "1" } });
  const labels = {
    "app.kubernetes.io/name": "coder-provisioner",
    "app.kubernetes.io/instance": "draining",
    "app.kubernetes.io/managed-by": "coder-k8s",
  };
  const set = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "provisioner-draining-1", uid: "0-1" };
  const ref = stage.ref("provisioner-draining-1-x");
  await stage.person.create(Pod, {
    metadata: {
      ...ref,
      labels,
      ownerReferences: [{ ...set, controller: true }],
      finalizers: ["example.com/building"],
    },
    spec: { containers: [{ name: "provisioner", image: "coder:x" }] },
  });
  await stage.person.delete(Pod, ref);
  await stage.change("draining", { tags: { a: "2" } });
  await stage.untilCondition("draining", "ProvisionerKeyReady", { status: "True", reason: "Rotating" });
  await stage.rollOut("draining");
  await stage.timePasses(5 * 60_000);
  expect(coderd.keys.map(({ id }) => id)).toContain(before.provisionerKeyID);
  await stage.person.mergePatch(Pod, ref, { metadata: { finalizers: [] } });
  await stage.eventually(() =>
    expect(coderd.keys.map(({ id }) => id)).not.toContain(before.provisionerKeyID),
  );
});

test("tags that change faster than pods follow leave a handful of keys, the one of the running pods among them", async () => {
  const before = await stage.serve("hasty", { tags: { a: "0" } });
  const keys = () => coderd.keys.filter(({ name }) => name.startsWith("hasty"));
  for (let change = 1; change <= 20; change++) {
    await stage.change("hasty", { tags: { a: `${change}` } });
    await stage.eventually(() => expect(keys().map(({ tags }) => tags.a)).toContain(`${change}`));
    await stage.untilCondition("hasty", "ProvisionerKeyReady", { status: "True", reason: "Rotating" });
  }
  await stage.timePasses(60_000);
  expect(keys().length).toBeLessThanOrEqual(6);
  expect((await stage.status("hasty")).retiredKeys).toHaveLength(5);
  expect(keys().map(({ id }) => id)).toContain(before.provisionerKeyID);
  await stage.rollOut("hasty");
  await stage.untilSettled("hasty");
  expect(keys()).toMatchObject([{ tags: { a: "20" } }]);
});

test("of too many keys those with which a daemon is connected stay", async () => {
  await stage.serve("held", { tags: { a: "0" } });
  const used: string[] = [];
  for (let change = 1; change <= 10; change++) {
    const { provisionerKeyID } = await stage.status("held");
    await stage.change("held", { tags: { a: `${change}` } });
    const { provisionerKeyID: id = "", secretRef } = await stage.eventually(async () => {
      const status = await stage.status("held");
      expect(status.provisionerKeyID).toBeDefined();
      expect(status.provisionerKeyID).not.toBe(provisionerKeyID);
      return status;
    });
    if (change > 7) continue;
    coderd.connectDaemon(`held-${change}`, (await stage.keyIn(secretRef?.name ?? "")) ?? "");
    used.push(id);
    // An answer about daemons may be two seconds old.
    await stage.timePasses(5_000);
  }
  await stage.timePasses(60_000);
  expect(coderd.keys.map(({ id }) => id)).toEqual(expect.arrayContaining(used));
});
