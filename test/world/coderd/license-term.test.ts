import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FakeLicense, fakeLicense } from "../../../lab/coderd/licenses.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const TYPE = "LicenseValid";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** A control plane without licenseSecretRef, whose licenses users uploaded manually; terms are in days. */
async function withLicenses(name: string, ...licenses: (FakeLicense & { days: number; grace?: number })[]) {
  const coderd = await stage.coderd(name);
  for (const { days, grace = 0, ...rest } of licenses)
    coderd.deployment.addLicense(
      fakeLicense({ ...rest, now: stage.clock.now(), expiresInMs: days * DAY_MS, graceMs: grace * DAY_MS }),
    );
  await stage.serve(name, coderd);
  return coderd;
}

const dateIn = (days: number) => new Date(stage.clock.now() + days * DAY_MS).toISOString().slice(0, 10);
const reasons = async (name: string) => (await stage.events(name)).map(({ reason }) => reason);

test("a license with 20 days left is reported, with an event and without a fault", async () => {
  await withLicenses("short", { days: 20, grace: 14, seats: 50 });
  const { message } = await stage.untilCondition("short", TYPE, { status: "True", reason: "ExpiresSoon" });
  expect(message).toContain(`expires on ${dateIn(20)}, and its grace period ends on ${dateIn(34)}`);
  const { license } = await stage.status("short");
  expect(license).toMatchObject({ tier: "premium", trial: false, seatsUsed: 1, seatsAllowed: 50 });
  expect(license?.expires).toContain(dateIn(20));
  expect(license?.graceEnds).toContain(dateIn(34));
  expect(license?.warnings).toEqual(["Your license expires in 20 days."]);
  expect(await reasons("short")).toContain("ExpiresSoon");
});

test("what a license counts besides seats is in the status, and no offer is among the warnings", async () => {
  const coderd = await withLicenses("counted", { days: 300, limits: { ai_governance_user_limit: 40 } });
  Object.assign(coderd.deployment.usage, { managedAgents: 120, aiUsers: 12 });
  await stage.timePasses(120_000);
  await stage.untilStatus("counted", {
    license: expect.objectContaining({
      managedAgentsUsed: 120,
      managedAgentsAllowed: 1_000,
      aiSeatsUsed: 12,
      aiSeatsAllowed: 40,
      warnings: [],
    }),
  });
});

test("a license goes from its term into grace and to its end, with one event for each, and back with a new one", async () => {
  const { deployment } = await withLicenses("aging", { days: 31, grace: 2 });
  await stage.untilCondition("aging", TYPE, { status: "True", reason: "Valid" });
  await stage.timePasses(2 * DAY_MS);
  await stage.untilCondition("aging", TYPE, { status: "True", reason: "ExpiresSoon" });
  await stage.timePasses(29 * DAY_MS + 120_000);
  await stage.untilCondition("aging", TYPE, { status: "False", reason: "InGrace" });
  await stage.untilStatus("aging", { licenseTier: "premium" });
  await stage.timePasses(2 * DAY_MS);
  await stage.untilCondition("aging", TYPE, { status: "False", reason: "Expired" });
  await stage.untilStatus("aging", { licenseTier: "none" });
  deployment.addLicense(fakeLicense({ now: stage.clock.now() }));
  await stage.timePasses(120_000);
  await stage.untilCondition("aging", TYPE, { status: "True", reason: "Valid" });
  const emitted = (await reasons("aging")).filter((reason) =>
    ["ExpiresSoon", "InGrace", "Expired", "Valid"].includes(reason ?? ""),
  );
  expect(emitted.toSorted()).toEqual(["Expired", "ExpiresSoon", "InGrace", "Valid"]);
});

test("a successor that begins in time ends the warning, and one after a gap does not", async () => {
  const { deployment } = await withLicenses("followed", { days: 20 });
  await stage.untilCondition("followed", TYPE, { status: "True", reason: "ExpiresSoon" });
  const later = { now: stage.clock.now(), expiresInMs: 400 * DAY_MS };
  deployment.addLicense(fakeLicense({ ...later, startsInMs: 21 * DAY_MS }));
  await stage.timePasses(120_000);
  await stage.untilCondition("followed", TYPE, { status: "True", reason: "ExpiresSoon" });
  deployment.addLicense(fakeLicense({ ...later, startsInMs: 19 * DAY_MS, expiresInMs: 22 * DAY_MS }));
  await stage.timePasses(120_000);
  await stage.untilCondition("followed", TYPE, { status: "True", reason: "Valid" });
  expect((await stage.status("followed")).license?.expires).toContain(dateIn(400));
});

test("more users than seats are a fault while they last, and a larger license ends it", async () => {
  const { deployment } = await withLicenses("crowded", { days: 300, seats: 10 });
  deployment.usage.users = 12;
  await stage.timePasses(120_000);
  const { message } = await stage.untilCondition("crowded", TYPE, { status: "False", reason: "OverSeats" });
  expect(message).toContain("12 users are active, but the license includes 10 seats");
  await stage.untilStatus("crowded", {
    license: expect.objectContaining({ seatsUsed: 12, seatsAllowed: 10 }),
  });
  deployment.addLicense(fakeLicense({ now: stage.clock.now(), seats: 20 }));
  await stage.timePasses(120_000);
  await stage.untilCondition("crowded", TYPE, { status: "True", reason: "Valid" });
});

describe("without a license", () => {
  test("the condition is Unknown without a warning", async () => {
    await withLicenses("free");
    await stage.untilCondition("free", TYPE, { status: "Unknown", reason: "NoLicense" });
    expect((await stage.status("free")).license).toEqual({
      tier: "none",
      trial: false,
      seatsUsed: 1,
      warnings: [],
    });
    expect((await stage.events("free")).filter(({ type }) => type === "Warning")).toEqual([]);
  });

  test("an open-source coderd leaves the condition Unknown", async () => {
    const coderd = await stage.coderd("open", { openSource: true });
    await stage.serve("open", coderd);
    await stage.untilCondition("open", TYPE, { status: "Unknown", reason: "NotSupported" });
    expect((await stage.status("open")).license).toBeUndefined();
  });
});

test("what is known of a license stays while coderd does not answer, and goes when access is turned off", async () => {
  const { deployment } = await withLicenses("kept", { days: 20 });
  await stage.untilCondition("kept", TYPE, { reason: "ExpiresSoon" });
  const { license } = await stage.status("kept");
  deployment.faults.inject({ fault: { kind: "cut" } });
  await stage.timePasses(10 * 60_000);
  await stage.untilCondition("kept", "EntitlementsKnown", { status: "False" });
  await stage.untilCondition("kept", TYPE, { status: "True", reason: "ExpiresSoon" });
  expect((await stage.status("kept")).license).toEqual(license);
  deployment.faults.clear();
  await stage.change("kept", { operatorAccess: { disabled: true } });
  await stage.untilCondition("kept", TYPE, { status: "Unknown", reason: "Disabled" });
  expect((await stage.status("kept")).license).toBeUndefined();
});

test("a hostile coderd can fill the status with no more than twenty short warnings", async () => {
  const { deployment } = await withLicenses("loud", { days: 300 });
  const { warnings: _, ...rest } = deployment.entitlements();
  const body = { ...rest, warnings: Array.from({ length: 2_000 }, () => "spam ".repeat(100)) };
  deployment.faults.inject({ fault: { kind: "answer", status: 200, body }, on: "GET /api/v2/entitlements" });
  await stage.timePasses(120_000);
  await stage.eventually(async () => {
    const { license } = await stage.status("loud");
    expect(license?.warnings).toHaveLength(20);
    expect(license?.warnings?.every((warning) => warning.length <= 301)).toBe(true);
  });
});
