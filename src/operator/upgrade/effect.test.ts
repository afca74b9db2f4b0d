import { expect, test } from "vitest";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import { upgradeEffect } from "./effect.ts";
import type { UpgradeFacts } from "./facts.ts";
import type { UpgradeRun } from "./observe.ts";

const began = "2026-01-01T00:00:00Z";
const record: UpgradeStatus = {
  stage: "ScalingDown",
  from: "a:1",
  to: "a:2",
  startedAt: began,
  since: began,
};
const next: UpgradeStatus = { ...record, stage: "RollingBack" };

/** Records a stage on a status that has this upgrade by now; answers with what is stored. */
async function recordOn(current: UpgradeStatus) {
  let status: { upgrade?: UpgradeStatus | undefined } = { upgrade: current };
  const own = {
    record: async (changes: (status: object) => object) => {
      status = { ...status, ...changes(status) };
      return { status: { ...status, ...changes(status) } };
    },
    emit: () => {},
  };
  const effect = upgradeEffect({ environment: { own } } as unknown as UpgradeRun);
  const facts = { record } as UpgradeFacts;
  const progress = await effect.act({ do: "record", record: next }, { facts, isFresh: true });
  return { progress, stage: status.upgrade?.stage };
}

test("a stage is recorded after the one that it was decided in", async () => {
  expect(await recordOn(record)).toMatchObject({ progress: { next: {} }, stage: "RollingBack" });
});

test("a stage that another process has recorded meanwhile is not overwritten", async () => {
  const newer: UpgradeStatus = { ...record, stage: "Migrating" };
  expect(await recordOn(newer)).toEqual({ progress: { overtaken: true }, stage: "Migrating" });
});
