import { ConfigMap, controllerReference, Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "secret");
  coderd = await stage.controlPlane();
});
afterAll(() => stage[Symbol.asyncDispose]());

const keysOf = (name: string) => coderd.keys.filter((key) => key.name.startsWith(name));

async function podsRead(name: string): Promise<{ name?: string; key?: string }> {
  const { spec } = await stage.template(name);
  const variable = spec?.containers[0]?.env?.find((env) => env.name === "CODER_PROVISIONER_DAEMON_KEY");
  return variable?.valueFrom?.secretKeyRef ?? {};
}

describe("when only the place of the key changes, its value is copied and no key call is made", () => {
  test("the Secret's name: the old one stays until no pod reads it", async () => {
    await stage.serve("renamed");
    const value = await stage.keyIn("renamed-provisioner-key");
    const calls = coderd.calls.length;

    await stage.change("renamed", { key: { secretName: "elsewhere" } });
    await stage.eventually(async () =>
      expect(await podsRead("renamed")).toMatchObject({ name: "elsewhere" }),
    );
    expect(await stage.keyIn("elsewhere")).toBe(value);
    expect(await stage.keyIn("renamed-provisioner-key")).toBe(value);

    await stage.rollOut("renamed");
    await stage.eventually(async () =>
      expect(await stage.exists(Secret, "renamed-provisioner-key")).toBe(false),
    );
    expect((await stage.untilSettled("renamed")).secretRef).toEqual({ name: "elsewhere", key: "key" });
    const asked = coderd.calls.slice(calls).filter(({ request }) => !request.includes("provisionerdaemons"));
    expect(asked).toEqual([]);
    expect((await stage.events("renamed")).map(({ reason }) => reason)).toContain("SecretCopied");
  });

  test("the data key: the old one stays until no pod reads it", async () => {
    await stage.serve("rekeyed");
    const value = await stage.keyIn("rekeyed-provisioner-key");
    const calls = coderd.calls.length;

    await stage.change("rekeyed", { key: { secretKey: "daemon" } });
    await stage.eventually(async () => expect(await podsRead("rekeyed")).toMatchObject({ key: "daemon" }));
    expect(await stage.keyIn("rekeyed-provisioner-key", "daemon")).toBe(value);
    expect(await stage.keyIn("rekeyed-provisioner-key", "key")).toBe(value);

    await stage.rollOut("rekeyed");
    await stage.eventually(async () =>
      expect(await stage.keyIn("rekeyed-provisioner-key", "key")).toBeUndefined(),
    );
    expect(await stage.keyIn("rekeyed-provisioner-key", "daemon")).toBe(value);
    expect(coderd.calls.slice(calls)).toEqual([]);
  });
});

describe("a Secret that is of no use gets a new key", () => {
  const spoil = {
    deleted: (name: string) => stage.person.delete(Secret, stage.ref(name)),
    emptied: (name: string) => stage.person.mergePatch(Secret, stage.ref(name), { data: { key: "" } }),
    "without the data key": (name: string) =>
      stage.person.mergePatch(Secret, stage.ref(name), { data: { key: null } }),
  };
  test.each(Object.entries(spoil))("%s", async (what, spoilIt) => {
    const name = what.replaceAll(" ", "-");
    const before = await stage.serve(name);
    await spoilIt(`${name}-provisioner-key`);
    await stage.eventually(async () => {
      const { status } = await stage.get(CoderProvisioner, name);
      expect(status?.provisionerKeyID).toBeDefined();
      expect(status?.provisionerKeyID).not.toBe(before.provisionerKeyID);
    });
    await stage.rollOut(name);
    const after = await stage.untilSettled(name);
    expect(keysOf(name)).toMatchObject([{ id: after.provisionerKeyID }]);
    expect(await stage.keyIn(`${name}-provisioner-key`)).toBe(keysOf(name)[0]?.plaintext);
  });
});

test("a Secret that lost its labels gets them back, and its key stays", async () => {
  const before = await stage.serve("stripped");
  const labels = { "app.kubernetes.io/managed-by": null };
  await stage.person.mergePatch(Secret, stage.ref("stripped-provisioner-key"), { metadata: { labels } });
  await stage.eventually(async () => {
    const { metadata } = await stage.get(Secret, "stripped-provisioner-key");
    expect(metadata.labels).toMatchObject({ "app.kubernetes.io/managed-by": "coder-k8s" });
  });
  expect((await stage.untilSettled("stripped")).provisionerKeyID).toBe(before.provisionerKeyID);
});

test("a foreign Secret is never changed, and no key is created that could not be stored", async () => {
  const owner = await stage.person.create(ConfigMap, { metadata: stage.ref("another-owner") });
  const metadata = {
    ...stage.ref("taken-provisioner-key"),
    ownerReferences: [controllerReference(owner, ConfigMap)],
  };
  await stage.person.create(Secret, { metadata, data: {} });
  await stage.create("taken");
  const { message } = await stage.untilCondition("taken", "ProvisionerKeySecretReady", {
    reason: "SecretNotOurs",
  });
  expect(message).toContain('ConfigMap "another-owner"');
  await stage.eventually(() => expect(keysOf("taken")).toEqual([]));
  expect(coderd.count(/^POST .*provisionerkeys$/)).toBe(coderd.everyKey.length);
  expect((await stage.get(Secret, "taken-provisioner-key")).data).toBeUndefined();
  expect((await stage.events("taken")).map(({ reason }) => reason)).toContain("SecretNotOurs");
});

test("a Secret with other data that the spec names is refused, and outlives rename and deletion", async () => {
  const before = await stage.putSecret("database", { password: "of-another-owner" });
  await stage.create("greedy", { key: { secretName: "database" } });
  await stage.untilCondition("greedy", "Conflict", { status: "True", reason: "SecretNotOurs" });
  const annotations = { "coder.com/adopt-by": "CoderProvisioner/greedy" };
  const handedOver = await stage.person.mergePatch(Secret, stage.ref("database"), {
    metadata: { annotations },
  });
  await stage.timePasses(30_000);
  await stage.eventually(async () => {
    const { message } = await stage.untilCondition("greedy", "Conflict", { status: "True" });
    expect(message).toContain("its data is different");
  });
  await stage.change("greedy", { key: { secretName: "greedy-key" } });
  await stage.eventually(async () => expect(await stage.keyIn("greedy-key")).toBeDefined());
  await stage.delete(CoderProvisioner, "greedy");
  await stage.untilGone(CoderProvisioner, "greedy");
  expect(await stage.get(Secret, "database")).toEqual(handedOver);
  expect(handedOver.data).toEqual(before.data);
});

test("a provisioner that is restored from a backup, under another uid and without status, keeps its key", async () => {
  await stage.serve("restored");
  const value = await stage.keyIn("restored-provisioner-key");
  const { uid } = (await stage.get(Secret, "restored-provisioner-key")).metadata;
  const made = keysOf("restored");
  await stage.operator.stop();
  await stage.person.mergePatch(CoderProvisioner, stage.ref("restored"), { metadata: { finalizers: null } });
  await stage.delete(CoderProvisioner, "restored");
  const { metadata } = await stage.create("restored");
  await stage.startOperator();
  await stage.eventually(async () => {
    const secret = await stage.get(Secret, "restored-provisioner-key");
    expect(secret.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid }]);
    expect(secret.metadata.uid).toBe(uid);
  });
  await stage.rollOut("restored");
  await stage.untilSettled("restored");
  expect(await stage.keyIn("restored-provisioner-key")).toBe(value);
  expect(keysOf("restored")).toEqual(made);
});

test("keys of others in the Secret stay", async () => {
  await stage.serve("shared");
  const extra = { data: { note: Buffer.from("mine").toString("base64") } };
  await stage.person.mergePatch(Secret, stage.ref("shared-provisioner-key"), extra);
  await stage.change("shared", { replicas: 2 });
  await stage.rollOut("shared");
  await stage.untilSettled("shared");
  await stage.touch("shared", "look again");
  await stage.untilIdle();
  expect(await stage.keyIn("shared-provisioner-key", "note")).toBe("mine");
});
