import { Deployment } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("additions");
});
afterEach(() => stage[Symbol.asyncDispose]());

const container = async () => {
  const { spec } = await stage.get(Deployment, "coder");
  const [first] = spec?.template.spec?.containers ?? [];
  return first;
};
const template = async () => JSON.stringify((await stage.get(Deployment, "coder")).spec?.template);

/** Makes the Deployment one that an earlier version of the operator has applied, without these fields of the container. */
async function asBefore(...fields: readonly string[]): Promise<void> {
  const changes = fields.map((field) => {
    return { op: "remove" as const, path: `/spec/template/spec/containers/0/${field}` };
  });
  await stage.operator.stop();
  await stage.person.jsonPatch(Deployment, stage.ref("coder"), changes);
  await stage.startOperator();
  await stage.untilIdle();
}

const clusterHost = { name: "CODER_CLUSTER_HOST", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } };
const clusterPort = { name: "cluster", containerPort: 6222, protocol: "TCP" };
/** Places of the additions in their lists. */
const [CLUSTER_HOST, CLUSTER_PORT] = ["env/2", "ports/1"];

test("new pods give the end of their log as the cause of a crash", async () => {
  await stage.serve("coder");
  expect(await container()).toMatchObject({ terminationMessagePolicy: "FallbackToLogsOnError" });
});

test("pods of an earlier operator are not replaced for that alone, but get it with the next change", async () => {
  await stage.serve("coder");
  await asBefore("terminationMessagePolicy");
  const before = await template();
  expect(before).not.toContain("terminationMessagePolicy");
  await stage.change("coder", { replicas: 2 });
  await stage.eventually(async () => expect((await stage.get(Deployment, "coder")).spec?.replicas).toBe(2));
  await stage.untilIdle();
  expect(await template()).toBe(before);
  await stage.change("coder", { extraEnv: [{ name: "NEW", value: "1" }] });
  await stage.eventually(async () =>
    expect(await container()).toMatchObject({ terminationMessagePolicy: "FallbackToLogsOnError" }),
  );
  await stage.change("coder", { replicas: 3 });
  await stage.untilIdle();
  expect(await container()).toMatchObject({ terminationMessagePolicy: "FallbackToLogsOnError" });
});

test("replicas find each other in new pods, and existing ones are not replaced for that", async () => {
  await stage.serve("coder");
  const complete = { env: expect.arrayContaining([clusterHost]), ports: [expect.anything(), clusterPort] };
  expect(await container()).toMatchObject(complete);
  await asBefore(CLUSTER_HOST, CLUSTER_PORT);
  const before = await template();
  expect(before).not.toMatch(/CODER_CLUSTER_HOST|6222/);
  await stage.change("coder", { replicas: 2 });
  await stage.untilIdle();
  expect(await template()).toBe(before);
  await stage.change("coder", { extraEnv: [{ name: "NEW", value: "1" }] });
  await stage.eventually(async () => expect(await container()).toMatchObject(complete));
});

test.each([
  ["another address", { name: "CODER_CLUSTER_HOST", value: "10.0.0.1" }],
  ["the operator's own address", clusterHost],
])("a cluster host of the user's wins at once, be it %s", async (_case, variable) => {
  await stage.serve("coder");
  await asBefore(CLUSTER_HOST, CLUSTER_PORT);
  await stage.change("coder", { extraEnv: [variable] });
  await stage.eventually(async () => expect((await container())?.env).toContainEqual(variable));
  expect((await container())?.env?.filter(({ name }) => name === variable.name)).toHaveLength(1);
});

test("pods with a cluster host of the user's are not replaced to declare the port", async () => {
  await stage.serve("coder", { extraEnv: [clusterHost] });
  await asBefore(CLUSTER_PORT);
  const before = await template();
  await stage.change("coder", { replicas: 2 });
  await stage.untilIdle();
  expect(await template()).toBe(before);
});
