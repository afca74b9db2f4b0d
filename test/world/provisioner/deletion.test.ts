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
  await stage.create("guarded", { controlPlaneRef: { name: "nobody" } });
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
    ["coderd is down", { kind: "cut" }],
    ["the token is refused", { kind: "answer", status: 401 }],
    ["the token may not", { kind: "answer", status: 403 }],
    ["coderd is in trouble", { kind: "answer", status: 500 }],
    ["something else answers", { kind: "html" }],
    ["coderd asks to come back in an hour", { kind: "rateLimited", retryAfter: "3600" }],
  ];
  test.each(faults)("%s", async (_, fault) => {
    const { name, coderd } = await pair();
    coderd.faults.inject({ fault });
    await remove(name);
    expect(coderd.keys).toHaveLength(1);
    expect(await leftBehind(name)).toEqual([expect.stringContaining("delete it by hand")]);
  });

  test("the token may see the key but not delete it", async () => {
    const { name, coderd } = await pair();
    coderd.faults.inject({ fault: { kind: "answer", status: 404 }, on: /^DELETE/ });
    await remove(name);
    expect(await leftBehind(name)).toEqual([expect.stringContaining("may not delete it")]);
  });
});

describe("many retired keys hold up a deletion no longer than one", () => {
  const retired = (controlPlaneURL: (index: number) => string, controlPlaneRefName: string) =>
    Array.from({ length: 40 }, (_, index) => ({
      name: `old-${index}`,
      controlPlaneRefName,
      controlPlaneURL: controlPlaneURL(index),
    }));

  test("at one coderd that never answers, which is asked once", async () => {
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
    expect(coderd.calls.length - asked).toBeLessThanOrEqual(2);
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

test("a key that is gone already is no trouble", async () => {
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
