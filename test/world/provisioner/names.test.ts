import { Deployment, type Kind, Role, RoleBinding, Secret, ServiceAccount } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "names");
  coderd = await stage.controlPlane();
});
afterAll(() => stage[Symbol.asyncDispose]());

const children: readonly Kind[] = [Secret, ServiceAccount, Role, RoleBinding, Deployment];

/** The names of all children of a provisioner, by kind. */
async function childrenOf(name: string): Promise<Map<string, string>> {
  const { uid } = (await stage.get(CoderProvisioner, name)).metadata;
  const found = new Map<string, string>();
  for (const kind of children) {
    const { items } = await stage.person.list(kind, { namespace: stage.namespace });
    const own = items.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
    expect(own, `${kind.plural} of ${name}`).toHaveLength(1);
    found.set(kind.kind, own[0]?.metadata.name ?? "");
  }
  return found;
}

const long = (length: number, last = "z") => `${"a".repeat(length - 1)}${last}`;

test.each([
  ["63 characters", long(63)],
  ["128 characters", long(128)],
  ["253 characters", long(253)],
  ["253 characters with dots", `${long(60)}.${long(60)}.${long(60)}.${long(70)}`],
])("a name of %s works from key to deletion", async (_, name) => {
  await stage.create(name);
  await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True" });
  await stage.untilCondition(name, "DeploymentReady", { reason: "RollingOut" });
  const { status } = await stage.get(CoderProvisioner, name);
  const key = coderd.keys.find(({ id }) => id === status?.provisionerKeyID);
  expect(key?.name.length).toBeLessThanOrEqual(64);
  const names = await childrenOf(name);
  expect(names.get("Deployment")?.length).toBeLessThanOrEqual(63);

  await stage.person.delete(CoderProvisioner, stage.ref(name));
  await stage.untilGone(CoderProvisioner, name);
  expect(coderd.keys.map(({ id }) => id)).not.toContain(key?.id);
});

test("two names that differ only past the cut share nothing", async () => {
  const names = [long(253, "x"), long(253, "y")] as const;
  for (const name of names) {
    await stage.create(name);
    await stage.untilCondition(name, "DeploymentReady", { reason: "RollingOut" });
  }
  const [left, right] = [await childrenOf(names[0]), await childrenOf(names[1])];
  for (const [kind, name] of left) expect(right.get(kind), kind).not.toBe(name);
  const keys = await Promise.all(names.map((name) => stage.get(CoderProvisioner, name)));
  expect(new Set(keys.map(({ status }) => status?.provisionerKeyName)).size).toBe(2);
});

test("a long name stays within what coderd takes when its key is rotated", async () => {
  const name = long(200);
  await stage.create(name);
  await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True", reason: "KeyReady" });
  await stage.change(name, { tags: { a: "1" } });
  await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True", reason: "Rotating" });
  const { status } = await stage.get(CoderProvisioner, name);
  expect(status?.provisionerKeyName).toMatch(/-[0-9a-f]{8}$/);
  expect(status?.provisionerKeyName?.length).toBeLessThanOrEqual(64);
});

test("a name that coderd keeps for itself is avoided", async () => {
  await stage.create("psk");
  await stage.untilCondition("psk", "ProvisionerKeyReady", { status: "True" });
  expect((await stage.get(CoderProvisioner, "psk")).status?.provisionerKeyName).toMatch(/^psk-/);
});
