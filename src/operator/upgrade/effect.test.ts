import { describe, expect, test } from "vitest";
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

/** Records a stage on a status that has this upgrade in the meantime, and returns the stored status. */
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

test("a stage that another process has recorded is not overwritten", async () => {
  const newer: UpgradeStatus = { ...record, stage: "Migrating" };
  expect(await recordOn(newer)).toEqual({ progress: { overtaken: true }, stage: "Migrating" });
});

describe("a plan at rest that would", () => {
  const rest = { do: "rest", shape: { template: "spec", image: "a:1", replicas: 2 } } as const;
  const none = { revisions: [], imageChecks: [] };
  const calm = { present: "a:1", presentReplicas: 2, record: undefined } as unknown as UpgradeFacts;

  /** Result of planning on a status without an upgrade while the API server has one. */
  async function planned(upgrade: object, facts: UpgradeFacts, stored: UpgradeStatus | undefined) {
    const own = {
      latest: { status: {} },
      readUncached: async () => ({ object: { status: { upgrade: stored } } }),
    };
    const run = { snapshot: { upgrade }, environment: { own } } as unknown as UpgradeRun;
    const effect = upgradeEffect(run);
    const state = { facts, isFresh: false };
    if (effect.needs(rest, state) === "nothing") return "acts on the cache";
    const progress = await effect.refresh?.(state);
    return progress && "next" in progress ? effect.needs(rest, progress.next) : progress;
  }

  test.each([
    ["start pods of another version", none, { ...calm, present: "a:2" }],
    ["start pods after there were none", none, { ...calm, presentReplicas: 0 }],
    ["remove a pod template", { ...none, revisions: [{ metadata: { name: "kept" } }] }, calm],
  ])("%s is made on what the API server has", async (_case, upgrade, facts) => {
    expect(await planned(upgrade, facts, record)).toEqual({ overtaken: true });
    expect(await planned(upgrade, facts, undefined)).toBe("nothing");
  });

  test("are not carried out without a request", async () => {
    expect(await planned(none, calm, record)).toBe("acts on the cache");
    expect(await planned(none, { ...calm, present: undefined } as UpgradeFacts, record)).toBe(
      "acts on the cache",
    );
  });
});
