import { CoreEvent } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("durable");
});
afterEach(() => stage[Symbol.asyncDispose]());

const url = { name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" };

async function warnings(): Promise<string[]> {
  const { items } = await stage.person.list(CoreEvent, { namespace: stage.namespace });
  return items.filter(({ reason }) => reason === "BuiltInDatabase").map(({ message = "" }) => message);
}

async function conditionTypes(name: string): Promise<string[]> {
  return ((await stage.status(name)).conditions ?? []).map(({ type }) => type);
}

test("coderd on its built-in database is warned of by a condition and one event, until it has another", async () => {
  await stage.serve("coder", { extraEnv: [] });
  const { message } = await stage.untilCondition("coder", "DatabaseDurable", {
    status: "False",
    reason: "BuiltInDatabase",
  });
  expect(message).toContain("loses all data when the pod is deleted");
  await stage.untilCondition("coder", "Ready", { status: "True" });
  await stage.timePasses(10 * 60_000);
  expect(await warnings()).toEqual([message]);
  await stage.change("coder", { extraEnv: [url] });
  await stage.eventually(async () => expect(await conditionTypes("coder")).not.toContain("DatabaseDurable"));
});

test.each([
  ["a variable", { extraEnv: [url] }],
  [
    "a variable of another object",
    { extraEnv: [{ name: url.name, valueFrom: { fieldRef: { fieldPath: "x" } } }] },
  ],
  ["a flag", { extraEnv: [], extraArgs: ["--postgres-url=postgres://coder@db/coder"] }],
  [
    "a volume for the built-in one",
    { extraEnv: [], volumeMounts: [{ name: "home", mountPath: "/home/coder" }] },
  ],
])("a database by %s needs no warning", async (_, spec) => {
  await stage.serve("coder", spec);
  await stage.untilCondition("coder", "Ready", { status: "True" });
  await stage.untilIdle();
  expect(await conditionTypes("coder")).not.toContain("DatabaseDurable");
});

test("nothing is said of the database before a pod runs, since the source of its URL may yet come", async () => {
  await stage.create("coder", { envFrom: [{ secretRef: { name: "later" } }] });
  await stage.untilCondition("coder", "DeploymentReady", { status: "False" });
  await stage.untilIdle();
  expect(await conditionTypes("coder")).not.toContain("DatabaseDurable");
});
