import { Deployment, timestamp } from "kube-controller-runtime";
import { expect, test } from "vitest";
import type { UpgradeStage } from "../../../src/api/v1alpha1/upgrade.ts";
import { openQueueStage } from "../queue/stage.ts";
import { NEW, OLD } from "./stage.ts";

test("a pool does not follow the queue while an upgrade replaces pods, and does again afterwards", async () => {
  await using stage = await openQueueStage("upgrade-queue");
  const coderd = await stage.controlPlane();
  const replicas = async () => (await stage.get(Deployment, "provisioner-pool")).spec?.replicas;
  const upgrade = async (at: UpgradeStage) => {
    const since = timestamp(stage.clock.now());
    await stage.publish("coder", { upgrade: { stage: at, from: OLD, to: NEW, startedAt: since, since } });
  };
  await stage.create("pool", { replicas: 0, autoscaling: { minReplicas: 0, maxReplicas: 5 } });
  await stage.untilCondition("pool", "ScalingActive", { status: "True", reason: "FollowingQueue" });
  await upgrade("Migrating");
  coderd.jobs.submit({ organization: coderd.organizations[0]?.id ?? "" });
  await stage.untilCondition("pool", "ScalingActive", {
    message: expect.stringContaining("the control plane is being upgraded"),
  });
  expect(await replicas()).toBe(0);
  await upgrade("Completed");
  await stage.eventually(async () => expect(await replicas()).toBe(1));
});
