import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FakeLicense, fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const TYPE = "EntitlementsKnown";
const QUESTION = "GET /api/v2/entitlements";
const DAY_MS = 24 * 60 * 60_000;

describe("the license tier", () => {
  const daemons = "externalProvisionerDaemonsEntitlement";
  test.each<{
    tier: "none" | "trial" | "enterprise" | "premium";
    license?: FakeLicense;
    provisioners: string;
  }>([
    { tier: "none", provisioners: "not_entitled" },
    { tier: "trial", license: { trial: true }, provisioners: "entitled" },
    { tier: "enterprise", license: { featureSet: "enterprise" }, provisioners: "entitled" },
    { tier: "premium", license: { featureSet: "premium" }, provisioners: "entitled" },
  ])(
    "$tier is published without licenseSecretRef, with the version",
    async ({ tier, license, provisioners }) => {
      const coderd = await stage.coderd(tier, { version: "v2.31.4" });
      if (license) coderd.deployment.addLicense(fakeLicense({ ...license, now: stage.clock.now() }));
      await stage.serve(tier, coderd);
      const expected = { licenseTier: tier, [daemons]: provisioners, version: "v2.31.4" };
      const { entitlementsLastChecked = "" } = await stage.untilStatus(tier, expected);
      expect(Math.abs(Date.parse(entitlementsLastChecked) - stage.clock.now())).toBeLessThan(60_000);
      const { message } = await stage.untilCondition(tier, TYPE, { status: "True", reason: "Known" });
      expect(message).toContain(tier);
    },
  );

  test("is unknown for an open-source coderd, whose version is still published", async () => {
    const coderd = await stage.coderd("open-source", { openSource: true, version: "v2.31.4" });
    await stage.serve("open-source", coderd);
    await stage.untilStatus("open-source", { licenseTier: "unknown", version: "v2.31.4" });
  });

  test("follows a license through its grace period to its end, every two minutes", async () => {
    const coderd = await stage.coderd("lapsing");
    const license = fakeLicense({ expiresInMs: DAY_MS, graceMs: DAY_MS, now: stage.clock.now() });
    coderd.deployment.addLicense(license);
    await stage.serve("lapsing", coderd);
    await stage.untilStatus("lapsing", { licenseTier: "premium", [daemons]: "entitled" });
    await stage.timePasses(DAY_MS + 120_000);
    await stage.untilStatus("lapsing", { licenseTier: "premium", [daemons]: "grace_period" });
    await stage.timePasses(DAY_MS + 120_000);
    await stage.untilStatus("lapsing", { licenseTier: "none", [daemons]: "not_entitled" });
    coderd.deployment.addLicense(fakeLicense({ now: stage.clock.now() }));
    await stage.timePasses(119_000);
    await stage.timePasses(1_000);
    await stage.untilStatus("lapsing", { licenseTier: "premium" });
  });
});

describe("the condition", () => {
  test("is Pending until a pod serves and operator access is ready", async () => {
    const { database } = await stage.coderd("early");
    await stage.create("early", { operatorAccess: {} });
    await stage.untilCondition("early", TYPE, { status: "False", reason: "Pending" });
    await stage.untilServing("early");
    await stage.untilStatus("early", { phase: "Ready" });
    await stage.untilCondition("early", TYPE, { status: "False", reason: "Pending" });
    await stage.change("early", { extraEnv: [{ name: "CODER_PG_CONNECTION_URL", value: database.url }] });
    await stage.untilCondition("early", TYPE, { status: "True", reason: "Known" });
  });

  test("is EntitlementsQueryFailed while coderd gives no usable answer; what was known stays known", async () => {
    const coderd = await stage.coderd("senseless");
    coderd.deployment.addLicense(fakeLicense({ now: stage.clock.now() }));
    await stage.serve("senseless", coderd);
    await stage.untilStatus("senseless", { licenseTier: "premium" });
    coderd.deployment.faults.inject({ fault: { kind: "truncatedJson" }, on: QUESTION });
    await stage.timePasses(120_000);
    const failed = { status: "False", reason: "EntitlementsQueryFailed" } as const;
    const { message } = await stage.untilCondition("senseless", TYPE, failed);
    expect(message).toContain("truncated or malformed JSON");
    await stage.untilStatus("senseless", { licenseTier: "premium" });
    const asked = coderd.deployment.count(QUESTION);
    await stage.touch("senseless", "no sooner");
    expect(coderd.deployment.count(QUESTION)).toBe(asked);
    coderd.deployment.faults.clear();
    await stage.timePasses(30_000);
    await stage.untilCondition("senseless", TYPE, { status: "True", reason: "Known" });
  });

  test("is EntitlementsQueryFailed without a response after an upload, and is retried soon", async () => {
    const coderd = await stage.coderd("uploaded");
    await stage.serve("uploaded", coderd, { licenseSecretRef: { name: "uploaded-license" } });
    await stage.untilStatus("uploaded", { licenseTier: "none" });
    coderd.deployment.faults.inject({ fault: { kind: "cut" }, on: QUESTION, times: 1 });
    await stage.putSecret("uploaded-license", { license: fakeLicense({ now: stage.clock.now() }) });
    await stage.untilCondition("uploaded", TYPE, { status: "False", reason: "EntitlementsQueryFailed" });
    await stage.touch("uploaded", "no better by itself");
    await stage.untilCondition("uploaded", TYPE, { status: "False", reason: "EntitlementsQueryFailed" });
    await stage.timePasses(30_000);
    await stage.untilStatus("uploaded", { licenseTier: "premium" });
  });

  test("does not trust an answer of tomorrow, by a clock that was ahead", async () => {
    const coderd = await stage.coderd("tomorrow");
    await stage.serve("tomorrow", coderd);
    await stage.untilStatus("tomorrow", { licenseTier: "none" });
    const entitlementsLastChecked = new Date(stage.clock.now() + DAY_MS).toISOString();
    const status = { entitlementsLastChecked, licenseTier: "premium" };
    await stage.person.patchStatus(CoderControlPlane, stage.ref("tomorrow"), { status });
    await stage.touch("tomorrow", "look");
    await stage.untilStatus("tomorrow", { licenseTier: "none" });
  });

  test("is EntitlementsQueryFailed and the tier unknown when coderd refuses to answer", async () => {
    const coderd = await stage.coderd("refusing");
    const end = coderd.deployment.faults.inject({ fault: { kind: "answer", status: 403 }, on: QUESTION });
    await stage.serve("refusing", coderd);
    await stage.untilCondition("refusing", TYPE, { status: "False", reason: "EntitlementsQueryFailed" });
    await stage.untilStatus("refusing", {
      licenseTier: "unknown",
      externalProvisionerDaemonsEntitlement: "unknown",
    });
    end();
    await stage.timePasses(30_000);
    await stage.untilStatus("refusing", { licenseTier: "none" });
  });
});

test("five quiet minutes show two refreshes, one question about health, and no other write, event or question but those for the license", async () => {
  const coderd = await stage.coderd("quiet");
  await stage.putSecret("quiet-license", { license: fakeLicense({ now: stage.clock.now() }) });
  await stage.serve("quiet", coderd, { licenseSecretRef: { name: "quiet-license" } });
  await stage.untilStatus("quiet", { licenseTier: "premium" });
  await stage.untilCondition("quiet", "LicenseApplied", { status: "True" });
  await stage.untilCondition("quiet", "Healthy", { status: "True" });
  await stage.timePasses(0);
  const writes = () => stage.writes().filter(({ name }) => name?.startsWith("quiet"));
  const writtenBefore = writes().length;
  const callsBefore = coderd.deployment.calls.length;
  const connectionsBefore = stage.databases.connections;
  const eventsBefore = await stage.events("quiet");
  const checks = new Set<string | undefined>();
  for (let step = 0; step < 20; step++) {
    await stage.timePasses(15_000);
    await stage.timePasses(0);
    checks.add((await stage.controlPlane("quiet")).status?.entitlementsLastChecked);
  }
  await stage.timePasses(0);

  const written = writes().slice(writtenBefore);
  expect(written.map(({ resource, subresource }) => `${resource}/${subresource}`)).toEqual([
    "codercontrolplanes/status",
    "codercontrolplanes/status",
  ]);
  const calls = coderd.deployment.calls.slice(callsBefore).map(({ request }) => request);
  const perRefresh = [QUESTION, "GET /api/v2/buildinfo", "GET /api/v2/licenses"];
  // The last one shows within half a minute that coderd has lost its database.
  const others = ["GET /api/v2/debug/health", ...Array(10).fill("GET /api/v2/users/me")];
  expect(calls.toSorted()).toEqual([...perRefresh, ...perRefresh, ...others].toSorted());
  expect(checks.size).toBe(3);
  expect(stage.databases.connections).toBe(connectionsBefore);
  expect(await stage.events("quiet")).toEqual(eventsBefore);
});
