import type { TransportRequest } from "kube-controller-runtime";
import { answers, when } from "kube-controller-runtime/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type CoderdStage, openCoderdStage, urlVariable } from "./stage.ts";

const ACCESS = "OperatorAccessReady";
const VARIABLE = "CODER_PG_CONNECTION_URL";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage({ operator: false });
  await stage.startOperator({ tenancy: { operatorNamespace: "coder-system", workspaceNamespaces: [] } });
});
afterEach(() => {
  stage.operator.transport.fault = undefined;
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const refusal = { kind: "Status", code: 422, reason: "Invalid", message: "resources: must be positive" };
const appliesDeployment = ({ method, path }: TransportRequest) =>
  method !== "GET" && path.includes("/deployments");
const refusesDeployments = when(appliesDeployment, answers(422, {}, JSON.stringify(refusal)));

describe("a Deployment that the API server refuses", () => {
  test("leaves what coderd says known, while its pods serve", async () => {
    const coderd = await stage.coderd("held");
    await stage.serve("held", coderd);
    await stage.untilCondition("held", "Healthy", { status: "True" });
    stage.operator.transport.fault = refusesDeployments;
    await stage.change("held", { resources: { limits: { cpu: "-1" } } });
    await stage.untilCondition("held", "DeploymentReady", { status: "False", reason: "Invalid" });
    await stage.untilCondition("held", "EntitlementsKnown", { status: "True", reason: "Known" });
    await stage.untilCondition("held", "Healthy", { status: "True" });
    await stage.untilCondition("held", "Available", { status: "True" });
  });

  test("leaves the phase Pending when it is the first", async () => {
    stage.operator.transport.fault = refusesDeployments;
    await stage.create("first");
    await stage.untilCondition("first", "DeploymentReady", { status: "False", reason: "Invalid" });
    expect(await stage.status("first")).toMatchObject({ phase: "Pending", readyReplicas: 0 });
  });
});

test("a token Secret without a valid token is reported as such", async () => {
  await stage.coderd("garbage");
  await stage.putSecret("garbage", { token: "\u0000\u0001not a token\u00ff" });
  await stage.create("garbage", { operatorAccess: { tokenSecretRef: { name: "garbage" } } });
  await stage.untilServing("garbage");
  const malformed = { status: "False", reason: "TokenMalformed" } as const;
  const { message } = await stage.untilCondition("garbage", ACCESS, malformed);
  expect(message).toContain('Secret "garbage"');
});

describe("a connection URL that depends on a field of the pod", () => {
  const host = { name: "HOST", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } };

  test.each([
    ["itself", "whole", [{ ...host, name: VARIABLE }], VARIABLE],
    ["in a part", "part", [host, urlVariable("postgres://u:p@$(HOST):5432/coder")], "HOST"],
  ])("%s is reported as unknown to the operator", async (_, name, extraEnv, culprit) => {
    await stage.create(name, { extraEnv, operatorAccess: {} });
    await stage.untilServing(name);
    const unread = { status: "False", reason: "NoConnectionURL" } as const;
    const { message } = await stage.untilCondition(name, ACCESS, unread);
    expect(message).toContain(`depends on "${culprit}", which comes from a pod field`);
    const { conditions = [] } = await stage.status(name);
    expect(conditions.map(({ type }) => type)).not.toContain("DatabaseDurable");
  });
});

describe("a database host that does not resolve", () => {
  test.each([
    [
      "short",
      "postgres",
      "use its full name, for example postgres.<namespace>.svc, and percent-encode special characters of the credentials.",
    ],
    ["long", "db.example.com", "correct it or check DNS."],
  ])("is named with its Secret, key and the operator's namespace: %s", async (name, host, advice) => {
    const { database } = await stage.coderd(name);
    const url = database.url.replace(/@[^:/]+/, `@${host}`);
    await stage.putSecret(`${name}-db`, { url });
    const valueFrom = { secretKeyRef: { name: `${name}-db`, key: "url" } };
    await stage.create(name, { extraEnv: [{ name: VARIABLE, valueFrom }], operatorAccess: {} });
    await stage.untilServing(name);
    const { message } = await stage.untilCondition(name, ACCESS, { reason: "DatabaseUnreachable" });
    expect(message).toBe(
      `Host "${host}" (Secret "${name}-db", key "url") does not resolve from namespace "coder-system"; ${advice.replace("<namespace>", stage.namespace)}`,
    );
  });
});

test("a password that breaks the connection URL is reported without showing any part of it", async () => {
  await stage.putSecret("hash-db", { url: "postgres://coder:p@ss#word@db.example.com:5432/coder" });
  const valueFrom = { secretKeyRef: { name: "hash-db", key: "url" } };
  await stage.create("hash", { extraEnv: [{ name: VARIABLE, valueFrom }], operatorAccess: {} });
  await stage.untilServing("hash");
  const { message } = await stage.untilCondition("hash", ACCESS, { reason: "InvalidConnectionURL" });
  expect(message).toContain('percent-encode it: "#" as %23');
  expect(message).not.toMatch(/"ss"|word@/);
});

test("with access turned off the user is told to upload the license, and nothing waits for it", async () => {
  await stage.putSecret("off-license", { license: "e30.e30.e30" });
  await stage.create("off", {
    licenseSecretRef: { name: "off-license" },
    operatorAccess: { disabled: true },
  });
  await stage.untilServing("off");
  const off = { status: "Unknown", reason: "Disabled" } as const;
  const { message } = await stage.untilCondition("off", "LicenseApplied", off);
  expect(message).toBe(
    "Operator access is disabled; upload the license manually or remove spec.licenseSecretRef.",
  );
});

test("a forged or wiped status is corrected at once", async () => {
  const coderd = await stage.coderd("forged");
  await stage.serve("forged", coderd);
  await stage.untilCondition("forged", "Healthy", { status: "True" });
  const before = await stage.status("forged");
  const at = stage.clock.now();
  const forged = { phase: "Pending", readyReplicas: 7, url: "http://elsewhere", conditions: [] };
  await stage.person.patchStatus(CoderControlPlane, stage.ref("forged"), { status: forged });
  await stage.untilStatus("forged", { phase: before.phase, readyReplicas: 1, url: before.url });
  await stage.untilCondition("forged", "Ready", { status: "True" });
  expect(stage.clock.now() - at).toBeLessThan(1_000);
});

test("a Service port on which nothing listens shows within seconds, and what coderd said before stays", async () => {
  const coderd = await stage.coderd("port");
  await stage.putSecret("port-license", { license: fakeLicense({ now: stage.clock.now() }) });
  await stage.serve("port", coderd, { licenseSecretRef: { name: "port-license" } });
  await stage.untilCondition("port", "LicenseApplied", { status: "True" });
  await stage.untilCondition("port", "Healthy", { status: "True" });
  coderd.deployment.faults.inject({ fault: { kind: "cut" } });
  const at = stage.clock.now();
  await stage.change("port", { service: { port: 8123 } });
  const unreachable = { status: "False", reason: "EntitlementsQueryFailed" } as const;
  const { message } = await stage.untilCondition("port", "EntitlementsKnown", unreachable);
  expect(stage.clock.now() - at).toBeLessThan(15_000);
  expect(message).toContain(":8123");
  await stage.untilCondition("port", ACCESS, { status: "True" });
  await stage.untilCondition("port", "LicenseApplied", { status: "True" });
  coderd.deployment.faults.clear();
  await stage.change("port", { service: { port: 80 } });
  await stage.untilCondition("port", "EntitlementsKnown", { status: "True", reason: "Known" });
});

test("the columns show pods as 1/1, the access URL without what a Secret may hold, and the end of the license", async () => {
  const coderd = await stage.coderd("columns");
  const extraEnv = [
    urlVariable(coderd.database.url),
    { name: "CODER_ACCESS_URL", value: "https://user:password@coder.example.com/path?x=y" },
  ];
  await stage.create("columns", { extraEnv, operatorAccess: {} });
  await stage.untilServing("columns");
  await stage.untilStatus("columns", { pods: "1/1", accessURL: "https://coder.example.com" });
});
