import { Deployment } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { NEW, OLD, openUpgradeStage, type UpgradeStage } from "./stage.ts";

const MINUTE_MS = 60_000;

async function expectCompleted(stage: UpgradeStage): Promise<void> {
  await stage.untilStage("Completed");
  expect(stage.rollouts.alive()).toEqual([NEW, NEW]);
  expect(stage.rollouts.violations).toEqual([]);
}

describe("when no node takes the new pod", () => {
  async function roomless(): Promise<UpgradeStage> {
    const stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: NEW });
    await stage.untilStage("ScalingDown");
    stage.rollouts.hasRoom = false;
    await stage.untilStage("Migrating");
    return stage;
  }

  test("an upgrade waits for a cluster that grows, and goes on", async () => {
    await using stage = await roomless();
    const since = stage.clock.now();
    await stage.eventually(
      async () => {
        expect(stage.clock.now() - since).toBeGreaterThan(8 * MINUTE_MS);
        const condition = await stage.condition("Upgrading");
        expect(condition).toMatchObject({
          reason: "Migrating",
          message: expect.stringContaining("it cannot be scheduled"),
        });
      },
      { withinMs: 9 * MINUTE_MS },
    );
    stage.rollouts.hasRoom = true;
    await expectCompleted(stage);
  });

  test("the old version comes back where the cluster does not grow", async () => {
    await using stage = await roomless();
    await stage.untilStage("RollingBack");
    stage.rollouts.hasRoom = true;
    await stage.untilStage("RolledBack");
    await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([OLD, OLD]));
    expect(stage.rollouts.violations).toEqual([]);
  });
});

test("a paused Deployment is resumed, so that no old pod uses the new schema", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.person.mergePatch(Deployment, stage.ref("coder"), { spec: { paused: true } });
  await stage.change("coder", { image: NEW });
  await expectCompleted(stage);
  expect(stage.rollouts.served).toEqual([OLD, NEW]);
  expect((await stage.get(Deployment, "coder")).spec?.paused ?? false).toBe(false);
  const events = await stage.events("coder");
  expect(events.filter(({ reason }) => reason === "DeploymentResumed")).toHaveLength(1);
});

test("an upgrade is completed although the operator can't reach coderd, and says that the version is not confirmed", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Migrating");
  const reachable = stage.coderd.faults.inject({ fault: { kind: "cut" } });
  await expectCompleted(stage);
  const { message } = await stage.untilCondition("coder", "Upgrading", { reason: "Completed" });
  expect(message).toContain("The version is not confirmed");
  const status = await stage.status("coder");
  expect(status.image).toBe(NEW);
  expect(status.version).toBeUndefined();
  reachable();
  await stage.untilStatus("coder", { version: "v2.36.1" });
});

test("an image change during the deletion of the Deployment is still an upgrade", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.operator.stop();
  await stage.delete(Deployment, "coder");
  await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([]));
  await stage.change("coder", { image: NEW });
  await stage.startOperator();
  await expectCompleted(stage);
  expect(await stage.status("coder")).toMatchObject({ upgrade: { schemaBefore: 362, from: OLD } });
});

test("with strategy Rolling the version of another image is not known until coderd reports it", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle({ upgrade: { strategy: "Rolling" } });
  const reachable = stage.coderd.faults.inject({ fault: { kind: "cut" } });
  await stage.change("coder", { image: NEW });
  await stage.untilStatus("coder", { image: NEW });
  const rolled = () => expect(stage.rollouts.alive()).toEqual([NEW, NEW]);
  await stage.eventually(rolled, { withinMs: 20 * MINUTE_MS });
  expect((await stage.status("coder")).version).toBeUndefined();
  reachable();
  const reported = async () => expect((await stage.status("coder")).version).toBe("v2.36.1");
  await stage.eventually(reported, { withinMs: 5 * MINUTE_MS });
});
