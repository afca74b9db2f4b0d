import { controllerReference, Secret, Service } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { openProxyStage, type ProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProxyStage;
let provisioners: ProvisionerStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "services");
  provisioners = await openStage(new MemoryWorld(), "services");
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await provisioners?.[Symbol.asyncDispose]();
});

const ports = [{ port: 80 }];

test("a control plane that serves sends its token nowhere once its Service was replaced", async () => {
  const { deployment } = await stage.controlPlane("replaced");
  await stage.eventually(async () => {
    const { status } = await stage.get(CoderControlPlane, "replaced");
    expect(status?.operatorAccessReady).toBe(true);
  });
  await stage.untilIdle();
  await stage.delete(Service, "replaced");
  const selector = { app: "evil" };
  const metadata = stage.ref("replaced");
  const evil = { apiVersion: "v1", kind: "Service", metadata, spec: { selector, ports } };
  await stage.person.apply(Service, evil);
  await stage.eventually(async () => {
    const { status } = await stage.get(CoderControlPlane, "replaced");
    expect(status?.conditions).toContainEqual(expect.objectContaining({ reason: "ServiceNotOurs" }));
  });
  const before = deployment.calls.length;
  await stage.timePasses(11 * 60_000);
  await stage.untilIdle();
  expect(deployment.calls.length).toBe(before);
});

test.for([
  ["an external name", { type: "ExternalName", externalName: "evil.example.com" }],
  ["foreign pods", { selector: { app: "evil" } }],
] as const)(
  "a provisioner sends no token to its control plane's Service while that leads to %s",
  async ([how, change]) => {
    const name = `victim-${how.length}`;
    const coderd = await provisioners.controlPlane(name);
    const owner = await provisioners.get(CoderControlPlane, name);
    await provisioners.delete(Service, name);
    await provisioners.person.create(Service, {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        ...provisioners.ref(name),
        labels: { "app.kubernetes.io/managed-by": "coder-k8s" },
        ownerReferences: [controllerReference(owner, CoderControlPlane)],
      },
      spec: { ...change, ports },
    });
    await provisioners.create(`thief-${how.length}`, { controlPlaneRef: { name } });
    await provisioners.untilCondition(`thief-${how.length}`, "ControlPlaneReady", {
      status: "False",
      reason: "ServiceNotOurs",
    });
    expect(coderd.calls).toEqual([]);
  },
);

test("a provisioner's status chooses no Secret whose content is sent to a URL that it has", async () => {
  await provisioners.controlPlane("honest");
  const evil = provisioners.addCoderd("evil.example.com");
  await provisioners.serve("pool", { controlPlaneRef: { name: "honest" } });
  await provisioners.putSecret("treasure", { password: "of-another-owner" });
  const stolen = {
    name: "stolen",
    controlPlaneRefName: "gone",
    controlPlaneURL: "http://evil.example.com",
    credentialsSecretRef: { name: "treasure", key: "password" },
  };
  const status = { retiredKeys: [stolen] };
  await provisioners.person.patchStatus(CoderProvisioner, provisioners.ref("pool"), { status });
  await provisioners.restart();
  await provisioners.eventually(async () => {
    const events = await provisioners.events("pool");
    expect(events.map(({ reason }) => reason)).toContain("KeyLeftBehind");
  });
  await provisioners.delete(CoderProvisioner, "pool");
  await provisioners.untilGone(CoderProvisioner, "pool");
  expect(evil.calls).toEqual([]);
});

test("a control plane's status chooses no Secret whose content is sent to its coderd", async () => {
  const operatorTokenSecretRef = { name: "treasure", key: "password" };
  await provisioners.putSecret("treasure", { password: "of-another-owner" });
  const coderd = await provisioners.controlPlane("liar", { status: { operatorTokenSecretRef } });
  await provisioners.delete(Secret, "liar-operator-token");
  await provisioners.create("misled", { controlPlaneRef: { name: "liar" } });
  await provisioners.untilCondition("misled", "OperatorAccessReady", { reason: "SecretMissing" });
  expect(coderd.calls).toEqual([]);
});

test("a control plane's status does not choose where its token goes", async () => {
  const evil = provisioners.addCoderd("evil-status.example.com");
  const status = { url: "http://evil-status.example.com" };
  const coderd = await provisioners.controlPlane("redirected", { status });
  await provisioners.create("sent", { controlPlaneRef: { name: "redirected" } });
  await provisioners.untilCondition("sent", "ProvisionerKeyReady", { status: "True" });
  expect(coderd.calls).not.toEqual([]);
  expect(evil.calls).toEqual([]);
});
