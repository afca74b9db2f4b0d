import { ControllerRevision } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { NEW, OLD, openUpgradeStage } from "./stage.ts";

test("another version in the spec stops all pods, lets one migrate and then starts the others", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("ScalingDown");
  await stage.untilStage("Migrating");
  expect(stage.rollouts.alive()).toEqual([]);
  await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([NEW]));
  await stage.untilStage("Completed");
  expect(stage.schema.version).toBe(362);
  expect(stage.rollouts.alive()).toEqual([NEW, NEW]);
  expect(stage.rollouts.violations).toEqual([]);
  expect(stage.rollouts.served).toEqual([OLD, NEW]);
  await stage.untilCondition("coder", "Ready", { status: "True" });
  expect(await stage.status("coder")).toMatchObject({ image: NEW, upgrade: { toVersion: "v2.26.0" } });
  expect(await stage.condition("Upgrading")).toMatchObject({ status: "False", reason: "Completed" });
  const { items } = await stage.person.list(ControllerRevision, { namespace: stage.namespace });
  expect(items).toEqual([]);
});
