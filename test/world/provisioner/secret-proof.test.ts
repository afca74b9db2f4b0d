import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const MINUTE = 60_000;
const PROOF = /provisionerkeys\/mine$/;
const SECRET = "linux-provisioner-key";
/** As long as a key of coderd's, and none. */
const DEAD = "x".repeat(43);

let world: MemoryWorld;
let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeEach(async () => {
  world = new MemoryWorld();
  stage = await openStage(world, "proof");
  coderd = await stage.controlPlane();
});
afterEach(() => stage[Symbol.asyncDispose]());

const checksum = async () =>
  (await stage.template("linux")).metadata?.annotations?.["checksum/provisioner-key"];
const put = (value: string) => stage.putSecret(SECRET, { key: value });

describe("a Secret whose content is not the key", () => {
  test.each([
    ["is a key that coderd does not know", async () => DEAD],
    ["is too short for a key", async () => "hunter2"],
    ["could not even be sent", async () => "schlüssel\nmit zeilen"],
    [
      "is that of another key",
      async () => coderd.createKey(coderd.organizations[0]?.id ?? "", "other", {}).plaintext,
    ],
  ])("but %s gets a new key, and the old one is deleted", async (_, value) => {
    const before = await stage.serve("linux");
    await put(await value());
    await stage.eventually(async () =>
      expect((await stage.status("linux")).provisionerKeyID).not.toBe(before.provisionerKeyID),
    );
    await stage.rollOut("linux");
    const after = await stage.untilSettled("linux");
    expect(coderd.acceptedKey((await stage.keyIn(SECRET)) ?? "")?.id).toBe(after.provisionerKeyID);
    expect(coderd.keys.map(({ id }) => id)).not.toContain(before.provisionerKeyID);
    const events = (await stage.events("linux")).map(({ reason, message }) => `${reason}: ${message}`);
    expect(events.join("\n")).toMatch(/^KeyRotated: .*: its Secret contained a different value\./m);
  });

  test("replaces no pod before it is healed", async () => {
    await stage.serve("linux");
    const running = await checksum();
    const end = coderd.faults.inject({ fault: { kind: "cut" } });
    await put(DEAD);
    const state = { status: "False", reason: "Unverified" };
    const { message } = await stage.untilCondition("linux", "ProvisionerKeySecretReady", state);
    expect(message).toContain(`The content of Secret "${SECRET}" has changed`);
    await stage.untilCondition("linux", "Ready", state);
    await world.clock.advance(5 * MINUTE);
    expect(await checksum()).toBe(running);
    end();
    await world.clock.advance(MINUTE);
    await stage.rollOut("linux");
    await stage.untilSettled("linux");
    expect(await checksum()).not.toBe(running);
  });

  test("is noticed after a restart of the operator, also without a status", async () => {
    await stage.serve("linux");
    await stage.operator.stop();
    await put(DEAD);
    const status = { provisionerKeyID: null, provisionerKeyName: null, secretRef: null };
    await stage.person.patchStatus(CoderProvisioner, stage.ref("linux"), { status });
    await stage.startOperator();
    await stage.eventually(async () =>
      expect(coderd.acceptedKey((await stage.keyIn(SECRET)) ?? "")).toBeDefined(),
    );
    await stage.rollOut("linux");
    await stage.untilSettled("linux");
  });
});

describe("the content of a Secret is verified", () => {
  test("when it changes, and once an hour otherwise; never with the secret in a URL", async () => {
    await stage.serve("linux");
    await stage.restart();
    await stage.eventually(() => expect(coderd.count(PROOF)).toBe(1));
    await world.clock.advance(50 * MINUTE);
    expect(coderd.count(PROOF)).toBe(1);
    await world.clock.advance(15 * MINUTE);
    expect(coderd.count(PROOF)).toBe(2);
    for (const { request } of coderd.calls)
      expect(coderd.everyKey.some((key) => request.includes(key))).toBe(false);
  });

  test("not at all when coderd gave it to this process", async () => {
    await stage.serve("linux");
    await world.clock.advance(10 * MINUTE);
    expect(coderd.count(PROOF)).toBe(0);
  });

  test("without a result if coderd is too old, which is reported and delays nothing", async () => {
    await stage.serve("linux");
    const body = { message: "Route not found." };
    coderd.faults.inject({ on: PROOF, fault: { kind: "answer", status: 404, body } });
    await stage.restart();
    const unverifiable = /cannot confirm that the Secret contains it/;
    await stage.eventually(async () => {
      const { message } = await stage.untilCondition("linux", "ProvisionerKeyReady", { status: "True" });
      expect(message).toMatch(unverifiable);
    });
    await stage.change("linux", { tags: { a: "1" } });
    await stage.rollOut("linux");
    await stage.untilSettled("linux");
  });

  test.each<[string, number, object]>([
    ["401", 401, { message: "who are you?" }],
    ["403", 403, { message: "Forbidden." }],
    ["502", 502, { message: "bad gateway" }],
  ])("by coderd alone: a %s of something before it rotates nothing", async (_, status, body) => {
    const before = await stage.serve("linux");
    coderd.faults.inject({ on: PROOF, fault: { kind: "answer", status, body } });
    await stage.restart();
    await world.clock.advance(5 * MINUTE);
    expect((await stage.status("linux")).provisionerKeyID).toBe(before.provisionerKeyID);
    await stage.untilCondition("linux", "Ready", { status: "True" });
  });

  test("without rotating again and again when coderd refuses even what it made", async () => {
    await stage.serve("linux");
    const body = { message: "provisioner daemon key invalid" };
    coderd.faults.inject({ on: PROOF, fault: { kind: "answer", status: 401, body } });
    await stage.restart();
    await stage.eventually(() => expect(coderd.everyKey).toHaveLength(2));
    await stage.rollOut("linux");
    await world.clock.advance(4 * 60 * MINUTE);
    expect(coderd.everyKey).toHaveLength(2);
  });
});

test("taking over from a version that verified nothing rotates no key and replaces no pod", async () => {
  const before = await stage.serve("linux");
  const [template, secret] = [await stage.template("linux"), await stage.keyIn(SECRET)];
  await stage.operator.stop();
  const { conditions = [] } = await stage.status("linux");
  const status = { conditions: conditions.filter(({ type }) => type !== "DaemonsConnected") };
  await stage.person.patchStatus(CoderProvisioner, stage.ref("linux"), { status });
  await stage.startOperator();
  await stage.untilCondition("linux", "DaemonsConnected", { status: "True" });
  await world.clock.advance(5 * MINUTE);
  const after = await stage.untilSettled("linux");
  expect(after.provisionerKeyID).toBe(before.provisionerKeyID);
  expect(await stage.template("linux")).toEqual(template);
  expect(await stage.keyIn(SECRET)).toBe(secret);
});
