import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Fault } from "../../../lab/coderd/faults.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, type CoderdOptions, type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const TYPE = "LicenseApplied";
const UPLOAD = "POST /api/v2/licenses";
const LIST = "GET /api/v2/licenses";
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const newLicense = () => fakeLicense({ now: stage.clock.now() });
const putLicense = (name: string, license: string) => stage.putSecret(`${name}-license`, { license });
const untilApplied = (name: string) =>
  stage.untilCondition(name, TYPE, { status: "True", reason: "Applied" });

/** A coderd and its control plane for one test, with a Secret for the license that may not exist yet. */
async function serve(
  name: string,
  options: CoderdOptions = {},
  spec: ControlPlaneSpec = {},
): Promise<Coderd> {
  const coderd = await stage.coderd(name, options);
  onTestFinished(async () => void (await stage.person.delete(CoderControlPlane, stage.ref(name))));
  await stage.serve(name, coderd, { licenseSecretRef: { name: `${name}-license` }, ...spec });
  return coderd;
}

test("a license that another replica of coderd has not loaded yet is waited for, and not reported as rejected", async () => {
  const coderd = await serve("replica");
  await stage.untilStatus("replica", { licenseTier: "none" });
  const body = { features: {}, warnings: [], errors: [], has_license: false, trial: false };
  const fault: Fault = { kind: "answer", status: 200, body };
  const before = stage.clock.now();
  coderd.deployment.faults.inject({ fault, on: "GET /api/v2/entitlements", times: 2 });
  await putLicense("replica", newLicense());
  await stage.untilStatus("replica", { licenseTier: "premium" });
  expect(stage.clock.now() - before).toBeLessThan(10_000);
  expect((await stage.events("replica")).map(({ reason }) => reason)).not.toContain("NotAccepted");
});

describe("the condition", () => {
  test("goes from NotConfigured over SecretMissing and Pending to Applied", async () => {
    const { database, deployment } = await stage.coderd("life");
    await stage.create("life", { operatorAccess: {} });
    await stage.untilCondition("life", TYPE, { status: "Unknown", reason: "NotConfigured" });
    const licenseSecretRef = { name: "life-license", key: "jwt" };
    await stage.change("life", { licenseSecretRef });
    const { message } = await stage.untilCondition("life", TYPE, {
      status: "False",
      reason: "SecretMissing",
    });
    expect(message).toContain('Secret "life-license" does not exist or has no key "jwt"');
    await stage.putSecret("life-license", { jwt: " \n" });
    await stage.putSecret("life-license", { license: newLicense() });
    const jwt = newLicense();
    await stage.putSecret("life-license", { jwt: `  ${jwt}\n` });
    await stage.untilCondition("life", TYPE, { status: "False", reason: "Pending" });
    await stage.untilServing("life");
    await stage.change("life", {
      extraEnv: [{ name: "CODER_PG_CONNECTION_URL", value: database.url }],
    });
    await untilApplied("life");
    await stage.untilStatus("life", { licenseTier: "premium", licenseLastAppliedHash: sha256(jwt) });
    expect(deployment.licenses.map((license) => license.jwt)).toEqual([jwt]);
    expect((await stage.events("life")).map(({ reason }) => reason)).toContain("LicenseApplied");
    await stage.change("life", { licenseSecretRef: null });
    await stage.untilCondition("life", TYPE, { status: "Unknown", reason: "NotConfigured" });
  });

  const internal: Fault = { kind: "answer", status: 500, body: { message: "Internal error." } };
  const refused: Fault = { kind: "answer", status: 403, body: { message: "Forbidden." } };
  test.each<[reason: string, fault: Fault]>([
    ["Forbidden", refused],
    ["UploadFailed", internal],
    ["UploadFailed", { kind: "html" }],
    ["CoderdUnreachable", { kind: "cut" }],
    ["RateLimited", { kind: "rateLimited", retryAfter: "20" }],
  ])("is %s until the next attempt succeeds", async (reason, fault) => {
    const name = `${reason}-${fault.kind}`.toLowerCase();
    const { deployment } = await serve(name);
    deployment.faults.inject({ fault, on: UPLOAD, times: 1 });
    await putLicense(name, newLicense());
    await stage.untilCondition(name, TYPE, { status: "False", reason });
    const uploads = deployment.count(UPLOAD);
    await stage.touch(name, "no sooner");
    expect(deployment.count(UPLOAD)).toBe(uploads);
    await stage.timePasses(30_000);
    await untilApplied(name);
  });

  test("is InvalidLicense without a valid license, until the Secret has one", async () => {
    await serve("garbage");
    await putLicense("garbage", "eyJhbGciOiJub25lIn0.not-a-license-at-all.x");
    const { message } = await stage.untilCondition("garbage", TYPE, {
      status: "False",
      reason: "InvalidLicense",
    });
    expect(message).toMatch(/^coderd rejects the license in Secret ".*garbage.*"; .*Invalid license/);
    await putLicense("garbage", newLicense());
    await untilApplied("garbage");
  });

  test("is NotSupported by an open-source coderd, which is asked only every ten minutes", async () => {
    const { deployment } = await serve("open", { openSource: true });
    await putLicense("open", newLicense());
    await stage.untilCondition("open", TYPE, { status: "False", reason: "NotSupported" });
    expect(deployment.count(UPLOAD)).toBe(1);
    for (let minute = 1; minute < 10; minute++) {
      await stage.touch("open", String(minute));
      await stage.timePasses(59_000);
    }
    expect(deployment.count(UPLOAD)).toBe(1);
    await stage.timePasses(69_000);
    await stage.eventually(() => expect(deployment.count(UPLOAD)).toBe(2));
  });
});

test("a rotated license is with coderd within a second", async () => {
  const { deployment } = await serve("rotated");
  await putLicense("rotated", newLicense());
  await untilApplied("rotated");
  for (let rotation = 0; rotation < 5; rotation++) {
    const jwt = newLicense();
    const startedAt = stage.clock.now();
    await putLicense("rotated", jwt);
    await stage.eventually(() => expect(deployment.licenses.at(-1)?.jwt).toBe(jwt));
    expect(stage.clock.now() - startedAt).toBeLessThan(1_000);
    await stage.untilStatus("rotated", { licenseLastAppliedHash: sha256(jwt) });
  }
});

test("from A to B and back to A: coderd has both, and the record says A", async () => {
  const { deployment } = await serve("back");
  const [a, b] = [newLicense(), newLicense()];
  for (const jwt of [a, b, a]) {
    await putLicense("back", jwt);
    await stage.untilStatus("back", { licenseLastAppliedHash: sha256(jwt) });
    await untilApplied("back");
  }
  expect(deployment.licenses.map(({ jwt }) => jwt)).toEqual([a, b]);
});

test("a coderd that was set up again gets the license within two minutes", async () => {
  const { deployment } = await serve("reset");
  await putLicense("reset", newLicense());
  await stage.untilStatus("reset", { licenseTier: "premium" });
  deployment.licenses = [];
  await stage.timePasses(120_000);
  await stage.eventually(() => expect(deployment.licenses).toHaveLength(1));
  await stage.untilStatus("reset", { licenseTier: "premium" });
});

test("a coderd that does not list its licenses for a while keeps the condition it has", async () => {
  await putLicense("unlisted", newLicense());
  const { deployment } = await serve("unlisted");
  await untilApplied("unlisted");
  const listed = deployment.count(LIST);
  deployment.faults.inject({ fault: { kind: "html", status: 502 }, on: LIST, times: 1 });
  await stage.timePasses(120_000);
  await stage.eventually(() => expect(deployment.count(LIST)).toBe(listed + 1));
  await stage.touch("unlisted", "no sooner");
  await untilApplied("unlisted");
  expect(deployment.count(LIST)).toBe(listed + 1);
  await stage.timePasses(30_000);
  await stage.eventually(() => expect(deployment.count(LIST)).toBe(listed + 2));
  expect((await stage.events("unlisted")).filter(({ type }) => type === "Warning")).toEqual([]);
});

describe("a refused token", () => {
  test("is replaced as soon as a license request fails, not only at its next check", async () => {
    const { database } = await serve("renewed");
    await putLicense("renewed", newLicense());
    await untilApplied("renewed");
    await database.suffer("keys deleted");
    await stage.timePasses(120_000);
    await stage.eventually(async () => expect(await database.keys()).toHaveLength(1));
    await untilApplied("renewed");
  });

  test("that is refused only where licenses are does not make a loop", async () => {
    const { deployment } = await serve("picky");
    await stage.untilReady("picky");
    const { connections } = stage.databases;
    deployment.faults.inject({ fault: { kind: "answer", status: 401 }, on: UPLOAD });
    await putLicense("picky", newLicense());
    await stage.untilCondition("picky", TYPE, { status: "False", reason: "Forbidden" });
    await stage.timePasses(3_000);
    await stage.untilIdle();
    expect(deployment.count(UPLOAD)).toBeLessThanOrEqual(2);
    expect(stage.databases.connections).toBe(connections);
  });
});
