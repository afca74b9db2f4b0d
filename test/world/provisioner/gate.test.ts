import { Deployment, timestamp } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import {
  type ControlPlaneOptions,
  openStage,
  type ProvisionerStage,
} from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const TWO_MINUTES = 2 * 60_000;
const ENTITLED = "ExternalProvisionersEntitled";

let stage: ProvisionerStage;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "gate");
});
afterAll(() => stage[Symbol.asyncDispose]());

let count = 0;

/** A control plane and a provisioner of its own. */
async function pair(options: ControlPlaneOptions = {}): Promise<{ name: string; coderd: CoderdDeployment }> {
  const name = `pair-${++count}`;
  const coderd = await stage.controlPlane(name, options);
  await stage.create(name, { controlPlaneRef: { name } });
  return { name, coderd };
}

const ago = (ms: number) => ({ entitlementsLastChecked: timestamp(stage.clock.now() - ms) });
const entitlementCalls = (coderd: CoderdDeployment) => coderd.count("GET /api/v2/entitlements");
const keyCalls = (coderd: CoderdDeployment) => coderd.count(/provisionerkeys/);

describe("while the control plane's answer is fresh", () => {
  test("it counts, and coderd is not asked for entitlements", async () => {
    const { name, coderd } = await pair();
    await stage.untilCondition(name, ENTITLED, { status: "True", reason: "Entitled" });
    await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True" });
    expect(entitlementCalls(coderd)).toBe(0);
  });

  test("a grace period passes", async () => {
    const { name } = await pair({ status: { externalProvisionerDaemonsEntitlement: "grace_period" } });
    await stage.untilCondition(name, ENTITLED, { status: "True", reason: "GracePeriod" });
    await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True" });
  });

  test("not entitled: no key call, no Secret, no daemons, and the message says what to do", async () => {
    const { name, coderd } = await pair({ licensed: false });
    const { message } = await stage.untilCondition(name, ENTITLED, {
      status: "False",
      reason: "NotEntitled",
    });
    expect(message).toContain(`CoderControlPlane "${name}"`);
    await stage.untilCondition(name, "Ready", { status: "False", reason: "NotEntitled" });
    await stage.untilIdle();
    expect(coderd.calls).toEqual([]);
    expect(await stage.exists(Deployment, `provisioner-${name}`)).toBe(false);
    expect(await stage.keyIn(`${name}-provisioner-key`)).toBeUndefined();
  });

  test("without any license the message says so, and names the field for one", async () => {
    const { name } = await pair({ licensed: false, status: { licenseTier: "none" } });
    const expected = { status: "False", reason: "NotEntitled" } as const;
    const { message } = await stage.untilCondition(name, ENTITLED, expected);
    expect(message).toContain(`CoderControlPlane "${name}" has no license`);
    expect(message).toContain("spec.licenseSecretRef");
  });

  test("it passes within a second of the control plane saying so, and a key is made", async () => {
    const { name, coderd } = await pair({ licensed: false });
    await stage.untilCondition(name, ENTITLED, { reason: "NotEntitled" });
    coderd.addLicense(fakeLicense());
    await stage.untilIdle();
    await stage.publish(name, { externalProvisionerDaemonsEntitlement: "entitled", ...ago(0) });
    const published = stage.clock.now();
    await stage.untilCondition(name, ENTITLED, { status: "True" });
    const [firstCall] = coderd.calls;
    expect((firstCall?.at ?? Number.POSITIVE_INFINITY) - published).toBeLessThan(1_000);
    expect(entitlementCalls(coderd)).toBe(0);
  });
});

describe("when the control plane's status is stale, coderd is asked", () => {
  test("entitled", async () => {
    const { name, coderd } = await pair({
      status: { externalProvisionerDaemonsEntitlement: "not_entitled", ...ago(TWO_MINUTES) },
    });
    await stage.untilCondition(name, ENTITLED, { status: "True" });
    await stage.untilIdle();
    expect(entitlementCalls(coderd)).toBe(1);
  });

  test("not entitled, whatever was published before", async () => {
    const { name, coderd } = await pair({
      licensed: false,
      status: { externalProvisionerDaemonsEntitlement: "entitled", ...ago(TWO_MINUTES) },
    });
    await stage.untilCondition(name, ENTITLED, { status: "False", reason: "NotEntitled" });
    await stage.untilIdle();
    expect(entitlementCalls(coderd)).toBe(1);
    expect(keyCalls(coderd)).toBe(0);
  });

  test("never published, or published as unknown", async () => {
    for (const value of [undefined, "unknown"] as const) {
      const status = { externalProvisionerDaemonsEntitlement: value, entitlementsLastChecked: undefined };
      const { name, coderd } = await pair({ status: status as ControlPlaneOptions["status"] & object });
      await stage.untilCondition(name, ENTITLED, { status: "True" });
      expect(entitlementCalls(coderd)).toBe(1);
    }
  });

  test("the answer counts for two minutes, in which other runs do not ask", async () => {
    const { name, coderd } = await pair({ licensed: false, status: ago(TWO_MINUTES) });
    await stage.untilCondition(name, ENTITLED, { reason: "NotEntitled" });
    await stage.touch(name, "look again");
    await stage.untilIdle();
    expect(entitlementCalls(coderd)).toBe(1);
    coderd.addLicense(fakeLicense());
    await stage.timePasses(TWO_MINUTES - 1_000);
    await stage.untilIdle();
    expect(entitlementCalls(coderd)).toBe(1);
    await stage.timePasses(1_500);
    await stage.untilCondition(name, ENTITLED, { status: "True" });
    expect(entitlementCalls(coderd)).toBe(2);
  });

  test("and again at once when the control plane says anything new", async () => {
    const { name, coderd } = await pair({ licensed: false, status: ago(TWO_MINUTES) });
    await stage.untilCondition(name, ENTITLED, { reason: "NotEntitled" });
    coderd.addLicense(fakeLicense());
    await stage.publish(name, { readyReplicas: 3 });
    await stage.untilCondition(name, ENTITLED, { status: "True" });
  });

  test.each([
    ["a refused token", { status: 401 }, "Forbidden"],
    ["a token without permission", { status: 403 }, "Forbidden"],
    ["an error of coderd", { status: 502 }, "EntitlementsQueryFailed"],
  ])("%s has its reason, and no key call is made", async (_, { status }, reason) => {
    const name = `pair-${++count}`;
    const coderd = await stage.controlPlane(name, { status: ago(TWO_MINUTES) });
    const end = coderd.faults.inject({ fault: { kind: "answer", status }, on: /entitlements/ });
    await stage.create(name, { controlPlaneRef: { name } });
    await stage.untilCondition(name, ENTITLED, { status: "False", reason });
    expect(keyCalls(coderd)).toBe(0);
    end();
    await stage.timePasses(30_000);
    await stage.untilCondition(name, ENTITLED, { status: "True" });
  });
});

describe("when a license lapses", () => {
  test("running daemons are left alone, and a change of the spec still reaches them", async () => {
    const name = `pair-${++count}`;
    const coderd = await stage.controlPlane(name);
    await stage.serve(name, { controlPlaneRef: { name } });
    const before = await stage.get(Deployment, `provisioner-${name}`);
    coderd.licenses = [];
    const calls = keyCalls(coderd);
    await stage.publish(name, { externalProvisionerDaemonsEntitlement: "not_entitled", ...ago(0) });
    await stage.untilCondition(name, ENTITLED, { status: "False", reason: "NotEntitled" });
    await stage.untilIdle();
    const after = await stage.get(Deployment, `provisioner-${name}`);
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    const { status } = await stage.get(CoderProvisioner, name);
    expect(status).toMatchObject({ phase: "Ready", readyReplicas: 1 });
    await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True" });

    await stage.change(name, { replicas: 3, tags: { new: "tags" } });
    await stage.eventually(async () =>
      expect((await stage.get(Deployment, `provisioner-${name}`)).spec?.replicas).toBe(3),
    );
    await stage.untilIdle();
    expect(keyCalls(coderd)).toBe(calls);
  });
});

describe("a check of the key that is due and can't be made", () => {
  /** How many runs there are while a person looks at things for a while. */
  async function runsMeanwhile(name: string): Promise<number> {
    await stage.untilIdle();
    const before = stage.counters.runs;
    for (let look = 0; look < 30; look++) await stage.get(CoderProvisioner, name);
    return stage.counters.runs - before;
  }

  test.each<[string, (coderd: CoderdDeployment) => void]>([
    ["because the license has lapsed", (coderd) => coderd.licenses.splice(0)],
    [
      "because coderd does not list keys",
      ({ faults }) => faults.inject({ fault: { kind: "cut" }, on: /provisionerkeys/ }),
    ],
  ])("%s is waited for, not hurried after", async (_, happen) => {
    const name = `pair-${++count}`;
    const coderd = await stage.controlPlane(name);
    await stage.serve(name, { controlPlaneRef: { name } });
    happen(coderd);
    const calls = coderd.count();
    await stage.timePasses(2 * TWO_MINUTES);
    await stage.eventually(() => expect(coderd.count()).toBeGreaterThan(calls));
    await stage.touch(name, "a look in between");
    expect(await runsMeanwhile(name)).toBeLessThan(15);
  });
});

test("nothing is written while nothing changes, however often it is looked at", async () => {
  const name = `pair-${++count}`;
  const coderd = await stage.controlPlane(name);
  await stage.serve(name, { controlPlaneRef: { name } });
  await stage.untilIdle();
  const requests = stage.operator.transport.requests.length;
  const calls = coderd.calls.length;
  for (let minute = 0; minute < 20; minute += 2) {
    const runs = stage.counters.runs;
    await stage.publish(name, ago(0));
    await stage.timePasses(TWO_MINUTES);
    await stage.eventually(() => expect(stage.counters.runs).toBeGreaterThan(runs));
    await stage.untilIdle();
  }
  const written = stage.operator.transport.requests
    .slice(requests)
    .filter(({ method, path }) => method !== "GET" && path.includes(name));
  expect(written).toEqual([]);
  const asked = new Set(coderd.calls.slice(calls).map(({ request }) => request.split("/").at(-1)));
  expect([...asked].filter((path) => path !== "entitlements")).toEqual([
    "provisionerkeys",
    "provisionerdaemons",
  ]);
});
