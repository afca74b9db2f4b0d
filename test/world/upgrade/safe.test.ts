import { ControllerRevision, Deployment } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { NEW, OLD, openUpgradeStage } from "./stage.ts";

test("an upgrade adds a startup probe that asks every second, and nothing before it replaces pods for one", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  const probe = async () =>
    (await stage.get(Deployment, "coder")).spec?.template.spec?.containers[0]?.startupProbe;
  expect(await probe()).toBeUndefined();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Completed");
  expect(await probe()).toMatchObject({ periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 86_400 });
  const started = stage.rollouts.started.length;
  await stage.restart();
  await stage.change("coder", { replicas: 1 });
  await stage.eventually(() => expect(stage.rollouts.alive()).toHaveLength(1));
  expect(await probe()).toMatchObject({ periodSeconds: 1 });
  expect(stage.rollouts.started).toHaveLength(started);
});

test("a startup probe with the timeout of an earlier version stays as it is", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Completed");
  await stage.untilIdle();
  await stage.operator.stop();
  const path = "/spec/template/spec/containers/0/startupProbe/timeoutSeconds";
  await stage.person.jsonPatch(Deployment, stage.ref("coder"), [{ op: "replace", path, value: 1 }]);
  await stage.startOperator();
  await stage.change("coder", { replicas: 1 });
  await stage.eventually(async () => {
    const { spec } = await stage.get(Deployment, "coder");
    expect(spec?.replicas).toBe(1);
    expect(spec?.template.spec?.containers[0]?.startupProbe).toMatchObject({ timeoutSeconds: 1 });
  });
});

test("another version in the spec stops all pods, migrates with one and then starts the others", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("ScalingDown");
  await stage.untilStage("Migrating");
  expect(stage.rollouts.alive()).toEqual([]);
  await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([NEW]));
  await stage.untilStage("Completed");
  expect(stage.schema.version).toBe(556);
  expect(stage.rollouts.alive()).toEqual([NEW, NEW]);
  expect(stage.rollouts.violations).toEqual([]);
  expect(stage.rollouts.served).toEqual([OLD, NEW]);
  await stage.untilCondition("coder", "Ready", { status: "True" });
  expect(await stage.status("coder")).toMatchObject({ image: NEW, upgrade: { toVersion: "v2.36.1" } });
  expect(await stage.condition("Upgrading")).toMatchObject({ status: "False", reason: "Completed" });
  const { items } = await stage.person.list(ControllerRevision, { namespace: stage.namespace });
  expect(items).toEqual([]);
});
