import { Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { Fault } from "../../../lab/coderd/faults.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const FINALIZER = "coder.com/provisioner-key-cleanup";

let stage: ProvisionerStage;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "deletion");
});
afterAll(() => stage[Symbol.asyncDispose]());

let count = 0;

/** A provisioner that serves, with a control plane of its own. */
async function pair(spec: object = {}): Promise<{ name: string; coderd: CoderdDeployment }> {
  const name = `pair-${++count}`;
  const coderd = await stage.controlPlane(name);
  await stage.serve(name, { controlPlaneRef: { name }, ...spec });
  return { name, coderd };
}

async function remove(name: string): Promise<void> {
  await stage.person.delete(CoderProvisioner, stage.ref(name));
  await stage.untilGone(CoderProvisioner, name);
}

async function leftBehind(name: string): Promise<string[]> {
  const events = await stage.events(name);
  return events.filter(({ reason }) => reason === "KeyLeftBehind").map(({ message = "" }) => message);
}

test("a finalizer guards every provisioner from the start", async () => {
  await stage.create("guarded", { controlPlaneRef: { name: "missing" } });
  await stage.eventually(async () => {
    expect((await stage.get(CoderProvisioner, "guarded")).metadata.finalizers).toEqual([FINALIZER]);
  });
  await remove("guarded");
});

describe("the key is removed", () => {
  test("with the control plane's token", async () => {
    const { name, coderd } = await pair();
    await remove(name);
    expect(coderd.keys).toEqual([]);
    expect(await leftBehind(name)).toEqual([]);
  });

  test("with the user's own token, without the control plane, at the URL that status has", async () => {
    await stage.putSecret("session", { token: "operator-token-of-the-tests" });
    const { name, coderd } = await pair({ bootstrap: { credentialsSecretRef: { name: "session" } } });
    await stage.person.delete(CoderControlPlane, stage.ref(name));
    await stage.untilCondition(name, "ControlPlaneReady", { status: "False", reason: "NotFound" });
    await remove(name);
    expect(coderd.keys).toEqual([]);
  });

  test("with a token whose Secret went a moment before, as when a namespace is deleted", async () => {
    const { name, coderd } = await pair();
    await stage.person.delete(Secret, stage.ref(`${name}-operator-token`));
    await remove(name);
    expect(coderd.keys).toEqual([]);
  });

  test("when coderd asks to come back in a second", async () => {
    const { name, coderd } = await pair();
    coderd.faults.inject({ fault: { kind: "rateLimited", retryAfter: "1" }, times: 1 });
    await stage.person.delete(CoderProvisioner, stage.ref(name));
    await stage.eventually(() => expect(coderd.count(/^GET .*provisionerkeys$/)).toBeGreaterThan(2));
    await stage.eventually(async () => {
      stage.clock.jump(5_000);
      expect(await stage.exists(CoderProvisioner, name)).toBe(false);
    });
    expect(coderd.keys).toEqual([]);
  });

  test("and so are the one before it, whose pods still ran, and one that was just being made", async () => {
    const { name, coderd } = await pair();
    coderd.faults.inject({
      fault: { kind: "cut" },
      on: /^POST .*provisionerkeys$/,
      afterEffect: true,
      after: 1,
    });
    await stage.change(name, { tags: { a: "2" } });
    await stage.untilCondition(name, "ProvisionerKeyReady", { reason: "Rotating" });
    await stage.change(name, { tags: { a: "3" } });
    await stage.untilCondition(name, "ProvisionerKeyReady", { reason: "CoderdUnreachable" });
    expect(coderd.keys).toHaveLength(3);
    await remove(name);
    expect(coderd.keys).toEqual([]);
  });
});

describe("deletion goes on, and an event names the key that stays", () => {
  test("no token is left anywhere", async () => {
    const { name, coderd } = await pair();
    await stage.person.delete(Secret, stage.ref(`${name}-operator-token`));
    await stage.restart();
    await remove(name);
    expect(coderd.keys).toHaveLength(1);
    expect(await leftBehind(name)).toEqual([expect.stringContaining(`"${name}"`)]);
  });

  test("the control plane is gone and only a status says where it was and where its token is", async () => {
    const { name, coderd } = await pair();
    await stage.person.delete(CoderControlPlane, stage.ref(name));
    await stage.restart();
    await remove(name);
    expect(coderd.keys).toHaveLength(1);
    expect(await leftBehind(name)).toEqual([expect.stringContaining(`"${name}"`)]);
  });

  const faults: readonly [string, Fault][] = [
    ["the token is refused", { kind: "answer", status: 401 }],
    ["the token may not", { kind: "answer", status: 403 }],
    ["coderd asks to come back in an hour", { kind: "rateLimited", retryAfter: "3600" }],
  ];
  test.each(faults)("%s", async (_, fault) => {
    const { name, coderd } = await pair();
    coderd.faults.inject({ fault });
    await remove(name);
    expect(coderd.keys).toHaveLength(1);
    expect(await leftBehind(name)).toEqual([expect.stringContaining("delete it manually")]);
  });

  test("the token may see the key but not delete it", async () => {
    const { name, coderd } = await pair();
    coderd.faults.inject({ fault: { kind: "answer", status: 404 }, on: /^DELETE/ });
    await remove(name);
    expect(await leftBehind(name)).toEqual([expect.stringContaining("not permitted to delete the key")]);
  });
});

test("deletion names a key that the token's user may not see", async () => {
  const { name, coderd } = await pair();
  const fault = { kind: "answer", status: 200, body: [] } as const;
  coderd.faults.inject({ fault, on: /^GET .*organizations\/.*provisionerkeys$/ });
  await remove(name);
  expect(coderd.keys).toHaveLength(1);
  expect(await leftBehind(name)).toEqual([expect.stringContaining("not permitted to read provisioner keys")]);
});

describe("deletion waits", () => {
  const faults: readonly [string, Fault][] = [
    ["coderd is down", { kind: "cut" }],
    ["coderd returns an error", { kind: "answer", status: 500 }],
    ["another server responds", { kind: "html" }],
    ["coderd is busy", { kind: "rateLimited" }],
  ];

  /** Deletes a provisioner while coderd has this fault, and sees coderd be asked. */
  async function removeDuring(fault: Fault, name: string, coderd: CoderdDeployment): Promise<void> {
    coderd.faults.inject({ fault });
    await stage.untilIdle();
    const asked = coderd.calls.length;
    await stage.person.delete(CoderProvisioner, stage.ref(name));
    await stage.eventually(() => expect(coderd.calls.length).toBeGreaterThan(asked));
  }

  test.each(faults)("and the key goes when all is well within two minutes: %s", async (_, fault) => {
    const { name, coderd } = await pair();
    await removeDuring(fault, name, coderd);
    await stage.timePasses(60_000);
    await stage.untilIdle();
    expect(await stage.exists(CoderProvisioner, name)).toBe(true);
    expect(coderd.keys).toHaveLength(1);
    coderd.faults.clear();
    await stage.timePasses(5_000);
    await stage.untilGone(CoderProvisioner, name);
    expect(coderd.keys).toEqual([]);
    expect(await leftBehind(name)).toEqual([]);
  });

  test.each(faults)("for two minutes, and then an event names the key: %s", async (_, fault) => {
    const { name, coderd } = await pair();
    await removeDuring(fault, name, coderd);
    await stage.timePasses(100_000);
    await stage.untilIdle();
    expect(await stage.exists(CoderProvisioner, name)).toBe(true);
    await stage.timePasses(20_000);
    await stage.untilGone(CoderProvisioner, name);
    expect(coderd.keys).toHaveLength(1);
    expect(await leftBehind(name)).toEqual([expect.stringContaining("delete it manually")]);
  });

  test("and the event comes although rotations have used up the events of the object", async () => {
    const { name, coderd } = await pair();
    for (let change = 1; change <= 40; change++) {
      await stage.change(name, { tags: { a: `${change}` } });
      await stage.eventually(() => expect(coderd.keys.map(({ tags }) => tags.a)).toContain(`${change}`));
      await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True", reason: "Rotating" });
    }
    await removeDuring({ kind: "cut" }, name, coderd);
    await stage.timePasses(120_000);
    await stage.untilGone(CoderProvisioner, name);
    const [message = "", ...more] = await leftBehind(name);
    expect(more).toEqual([]);
    for (const key of coderd.keys) expect(message).toContain(`"${key.name}"`);
  });

  test("for the keys that are left, and one event names all that stay", async () => {
    const { name, coderd } = await pair();
    const old = ["old-1", "old-2"];
    coderd.faults.inject({ fault: { kind: "cut" } });
    coderd.keys = coderd.keys.flatMap((key) => [key, ...old.map((id) => ({ ...key, id, name: id }))]);
    const place = { controlPlaneRefName: name, controlPlaneURL: stage.urlOf(name) };
    const status = { retiredKeys: old.map((id) => ({ id, name: id, ...place })) };
    await stage.person.patchStatus(CoderProvisioner, stage.ref(name), { status });
    await removeDuring({ kind: "cut" }, name, coderd);
    coderd.faults.clear();
    coderd.faults.inject({ fault: { kind: "cut" }, on: /^DELETE .*old-2$/ });
    await stage.timePasses(5_000);
    await stage.eventually(() => expect(coderd.keys.map((key) => key.name)).toEqual([name, "old-2"]));
    await stage.untilIdle();
    const asked = coderd.count(/^GET .*provisionerkeys$/);
    await stage.timePasses(120_000);
    await stage.untilGone(CoderProvisioner, name);
    expect(coderd.count(/^GET .*provisionerkeys$/)).toBe(asked + 1);
    const message = expect.stringContaining(`Provisioner keys "old-2", "${name}" remain in coderd`);
    expect(await leftBehind(name)).toEqual([message]);
    expect(stage.operator.log.filter(({ msg }) => msg === "failed to delete provisioner key")).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ key: "old-2" }),
        expect.objectContaining({ key: name }),
      ]),
    );
  });
});

describe("many retired keys delay a deletion no longer than one", () => {
  const retired = (controlPlaneURL: (index: number) => string, controlPlaneRefName: string) =>
    Array.from({ length: 40 }, (_, index) => ({
      name: `old-${index}`,
      controlPlaneRefName,
      controlPlaneURL: controlPlaneURL(index),
    }));

  test("at one coderd that never answers, which is asked for one at a time", async () => {
    const { name, coderd } = await pair();
    coderd.faults.inject({ fault: { kind: "stall" } });
    const status = { retiredKeys: retired(() => stage.urlOf(name), name) };
    await stage.person.patchStatus(CoderProvisioner, stage.ref(name), { status });
    await stage.untilIdle();
    const [asked, since] = [coderd.calls.length, stage.clock.now()];
    await stage.delete(CoderProvisioner, name);
    await stage.eventually(async () => expect(await stage.exists(CoderProvisioner, name)).toBe(false), {
      withinMs: 600_000,
    });
    expect(stage.clock.now() - since).toBeLessThan(120_000);
    expect(coderd.calls.length - asked).toBeLessThanOrEqual(8);
  });

  test("at as many coderds, none of which answers", async () => {
    await stage.putSecret("given", { token: "operator-token-of-the-tests" });
    const { name } = await pair({ bootstrap: { credentialsSecretRef: { name: "given" } } });
    await stage.person.delete(CoderControlPlane, stage.ref(name));
    await stage.untilCondition(name, "ControlPlaneReady", { status: "False", reason: "NotFound" });
    const keys = retired((index) => `http://gone-${index}.example.com`, name);
    for (const { controlPlaneURL } of keys)
      stage.addCoderd(new URL(controlPlaneURL).host).faults.inject({ fault: { kind: "stall" } });
    const status = { retiredKeys: keys };
    await stage.person.patchStatus(CoderProvisioner, stage.ref(name), { status });
    await stage.untilIdle();
    const since = stage.clock.now();
    await stage.delete(CoderProvisioner, name);
    await stage.eventually(async () => expect(await stage.exists(CoderProvisioner, name)).toBe(false), {
      withinMs: 600_000,
    });
    expect(stage.clock.now() - since).toBeLessThanOrEqual(120_000);
  });
});

test("a key that no longer exists causes no error", async () => {
  const { name, coderd } = await pair();
  coderd.keys = [];
  await remove(name);
  expect(coderd.count(/^DELETE/)).toBe(0);
  expect(await leftBehind(name)).toEqual([]);
});

test("a provisioner that never got a key is deleted without a call to coderd", async () => {
  const coderd = await stage.controlPlane("unlicensed", { licensed: false });
  await stage.create("keyless", { controlPlaneRef: { name: "unlicensed" } });
  await stage.untilCondition("keyless", "ExternalProvisionersEntitled", { reason: "NotEntitled" });
  await remove("keyless");
  expect(coderd.calls).toEqual([]);
});
