import { Deployment } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { NEW, OLD, openUpgradeStage, type UpgradeStage } from "./stage.ts";

const POOLS = ["a", "b", "c"];

async function openPlay(): Promise<UpgradeStage> {
  const stage = await openUpgradeStage();
  await stage.settle();
  for (const name of POOLS)
    await stage.person.create(CoderProvisioner, {
      ...CoderProvisioner,
      metadata: stage.ref(name),
      spec: { controlPlaneRef: { name: "coder" } },
    } as CoderProvisioner);
  await stage.eventually(async () => {
    for (const name of POOLS) expect(stage.rollouts.alive(`provisioner-${name}`)).toEqual([OLD]);
  });
  return stage;
}

/** Whether a Deployment has the new image and has not replaced all its pods yet. */
async function isIncomplete(stage: UpgradeStage, name: string): Promise<boolean> {
  const { metadata, status } = await stage.get(Deployment, name);
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = status ?? {};
  const isDone = observedGeneration === metadata.generation && updatedReplicas === replicas;
  return (await stage.image(name)) === NEW && !isDone;
}

test("provisioners keep the old image until coderd has the new one, and then get it one after the other", async () => {
  await using stage = await openPlay();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Migrating");
  for (const name of POOLS) expect(await stage.image(`provisioner-${name}`)).toBe(OLD);
  const most = { rolling: 0 };
  await stage.eventually(
    async () => {
      const isRolling = await Promise.all(POOLS.map((name) => isIncomplete(stage, `provisioner-${name}`)));
      most.rolling = Math.max(most.rolling, isRolling.filter(Boolean).length);
      expect((await stage.status("coder")).upgrade?.stage).toBe("Completed");
    },
    { withinMs: 30 * 60_000 },
  );
  expect(most.rolling).toBe(1);
  await stage.eventually(() => {
    for (const name of POOLS) expect(stage.rollouts.alive(`provisioner-${name}`)).toEqual([NEW]);
  });
  expect(await stage.status("coder")).toMatchObject({ upgrade: { follower: "provisioner/c" } });
});

test("running builds may finish before coderd is stopped", async () => {
  await using stage = await openPlay();
  const build = stage.startBuild();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Draining");
  await stage.eventually(async () => {
    expect((await stage.condition("Upgrading"))?.message).toContain("Waiting for 1 running build");
  });
  expect(stage.rollouts.alive()).toEqual([OLD, OLD]);
  stage.coderd.jobs.finish(build);
  await stage.untilStage("Completed");
});

test("whether an upgrade could begin is answered without one", async () => {
  await using stage = await openPlay();
  const ask = (image: string | null) =>
    stage.person.mergePatch(CoderControlPlane, stage.ref("coder"), {
      metadata: { annotations: { "coder.com/check-upgrade": image } },
    });
  await ask(NEW);
  await stage.untilCondition("coder", "UpgradePossible", { status: "True", reason: "CheckPassed" });
  expect((await stage.condition("UpgradePossible"))?.message).toContain(
    "The upgrade skips 9 minor versions, 2.27 to 2.35",
  );
  for (const request of ["one", "two"]) {
    await ask(`${NEW} ${request}`);
    await stage.eventually(async () =>
      expect((await stage.condition("UpgradePossible"))?.message).toMatch(
        new RegExp(`^An upgrade from .* can start\\..* Request "${request}"\\.$`),
      ),
    );
  }
  await ask("ghcr.io/coder/coder:v2.20.0");
  await stage.untilCondition("coder", "UpgradePossible", { status: "False", reason: "DowngradeRefused" });
  await ask(OLD);
  await stage.untilCondition("coder", "UpgradePossible", { status: "True", reason: "SameVersion" });
  stage.tokens.isDown = true;
  await ask(NEW);
  await stage.untilCondition("coder", "UpgradePossible", { status: "False", reason: "DatabaseUnreachable" });
  await ask(null);
  await stage.eventually(async () => expect(await stage.condition("UpgradePossible")).toBeUndefined());
  expect((await stage.get(Deployment, "coder")).metadata.generation).toBe(1);
  expect((await stage.status("coder")).upgrade).toBeUndefined();
});

test("an operator that is new to a running control plane starts nothing and replaces no pod", async () => {
  await using stage = await openPlay();
  await stage.operator.stop();
  await stage.person.patchStatus(CoderControlPlane, stage.ref("coder"), { status: { image: null } });
  const before = await stage.get(Deployment, "coder");
  await stage.startOperator();
  await stage.untilStatus("coder", { image: OLD });
  const after = await stage.get(Deployment, "coder");
  expect(after.metadata.generation).toBe(before.metadata.generation);
  expect((await stage.status("coder")).upgrade).toBeUndefined();
});
