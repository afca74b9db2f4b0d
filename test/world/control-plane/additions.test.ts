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

/** Makes the Deployment one that an earlier version of the operator has applied. */
async function asBefore(): Promise<void> {
  const path = "/spec/template/spec/containers/0/terminationMessagePolicy";
  await stage.operator.stop();
  await stage.person.jsonPatch(Deployment, stage.ref("coder"), [{ op: "remove", path }]);
  await stage.startOperator();
  await stage.untilIdle();
}

test("new pods give the end of their log as the cause of a crash", async () => {
  await stage.serve("coder");
  expect(await container()).toMatchObject({ terminationMessagePolicy: "FallbackToLogsOnError" });
});

test("pods of an earlier operator are not replaced for that alone, but get it with the next change", async () => {
  await stage.serve("coder");
  await asBefore();
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
