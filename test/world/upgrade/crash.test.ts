import { ControllerRevision, CronJob, Deployment, Job } from "kube-controller-runtime";
import { Dice } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { CrashingOperator, type CrashOptions, playAll } from "../../support/crashing-operator.ts";
import { BROKEN, NEW, OLD, openUpgradeStage, type UpgradeStage } from "./stage.ts";

const RANDOM_POINTS = 20;
const SEED = 22;
const TIME_LIMIT = { withinMs: 60 * 60_000 };

/** How an upgrade must end, whatever happens to the operator on the way. */
interface Ending {
  readonly image: string;
  readonly stage: "Completed" | "RolledBack";
  readonly runs: string;
  readonly schema: number;
}

const endings: readonly Ending[] = [
  { image: NEW, stage: "Completed", runs: NEW, schema: 556 },
  { image: BROKEN, stage: "RolledBack", runs: OLD, schema: 362 },
];

/** Settings of users in coderd, which must be preserved. */
const OF_PEOPLE = {
  application_name: "Acme",
  logo_url: "/logo.png",
  announcement_banners: [{ enabled: true, message: "Closed on Monday", background_color: "#00ff00" }],
};

/** A control plane that serves, with a CronJob for its backup whose Jobs succeed. */
async function openPlay(): Promise<UpgradeStage> {
  const stage = await openUpgradeStage();
  const jobTemplate = { spec: { template: { spec: { containers: [{ name: "dump", image: "postgres" }] } } } };
  const spec = { schedule: "@daily", jobTemplate };
  await stage.person.create(CronJob, { ...CronJob, metadata: stage.ref("dump"), spec } as CronJob);
  const announce = { banner: "Coder is being upgraded.", pausePrebuilds: true };
  await stage.settle({ upgrade: { announce, backup: { cronJobName: "dump" } } });
  stage.coderd.appearance = OF_PEOPLE;
  await stage.operator.stop();
  return stage;
}

async function finishBackups(stage: UpgradeStage): Promise<void> {
  const { items } = await stage.person.list(Job, { namespace: stage.namespace });
  const conditions = [{ type: "Complete", status: "True" }];
  for (const { metadata, status } of items)
    if (!status?.conditions)
      await stage.person.patchStatus(Job, stage.ref(metadata.name), { status: { conditions } });
}

async function expectEnd(stage: UpgradeStage, { stage: last, runs, schema }: Ending): Promise<void> {
  await finishBackups(stage);
  const { upgrade, announcement } = await stage.status("coder");
  expect(upgrade?.stage).toBe(last);
  expect(announcement).toBeUndefined();
  expect(stage.coderd).toMatchObject({ appearance: OF_PEOPLE, arePrebuildsPaused: false });
  expect(stage.rollouts.alive()).toEqual([runs, runs]);
  expect(await stage.image()).toBe(runs);
  expect(stage.schema.version).toBe(schema);
}

/** Upgrades with an operator that fails at one of its effects, and then with another; returns at which it failed. */
async function play(ending: Ending, failure: CrashOptions): Promise<string | undefined> {
  await using stage = await openPlay();
  const operatorUnderTest = new CrashingOperator(failure);
  const operator = await stage.startOperator(operatorUnderTest.throughWorld(stage.world));
  await stage.untilIdle();
  operatorUnderTest.arm();
  await stage.change("coder", { image: ending.image });
  await stage.eventually(async () => {
    if (!operatorUnderTest.isDead) await expectEnd(stage, ending);
  }, TIME_LIMIT);
  await operator.stop();
  await stage.startOperator();
  await stage.eventually(() => expectEnd(stage, ending), TIME_LIMIT);
  expect(stage.rollouts.violations).toEqual([]);
  expect(stage.coderd.count("PUT /api/v2/appearance")).toBeGreaterThanOrEqual(2);
  expect(stage.coderd.count("PUT /api/v2/prebuilds/settings")).toBeGreaterThanOrEqual(2);
  const jobs = await stage.person.list(Job, { namespace: stage.namespace });
  expect(jobs.items).toHaveLength(1);
  await stage.eventually(async () => expect(await stage.rollouts.imageChecks.pods()).toEqual([]));
  const kept = await stage.person.list(ControllerRevision, { namespace: stage.namespace });
  expect(kept.items).toHaveLength(ending.stage === "Completed" ? 0 : 1);
  return operatorUnderTest.failedAt;
}

/** Many upgrades in a row: seconds of computing, and more on a machine that is busy otherwise. */
const PLENTY = { timeout: 180_000 };

describe("an upgrade ends as it would have without the failure when the operator", PLENTY, () => {
  test.each(endings)("is killed after any of its effects: $stage", async (ending) => {
    const failed = await playAll("diesAfter", (options) => play(ending, options));
    expect(failed.length).toBeGreaterThan(10);
  });
});

test(`an upgrade is completed when operators are killed at ${RANDOM_POINTS} random moments`, async () => {
  const dice = new Dice(SEED);
  await using stage = await openPlay();
  await stage.startOperator();
  await stage.change("coder", { image: NEW });
  for (let kill = 0; kill < RANDOM_POINTS; kill++) {
    const at = stage.clock.now() + Math.floor(dice.next() * 5_000);
    await stage.eventually(() => expect(stage.clock.now()).toBeGreaterThanOrEqual(at));
    await finishBackups(stage);
    await stage.restart();
  }
  await stage.eventually(() => expectEnd(stage, endings[0] ?? expect.fail()), TIME_LIMIT);
  expect(stage.rollouts.violations).toEqual([]);
  expect((await stage.get(Deployment, "coder")).spec?.replicas).toBe(2);
});
