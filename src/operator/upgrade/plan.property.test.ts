import { timestamp } from "kube-controller-runtime";
import { Dice } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { type UpgradeStatus, upgradeStages } from "../../api/v1alpha1/upgrade.ts";
import type { DatabaseInspection } from "../../coder/operator-access/inspect.ts";
import { failed, succeeded } from "../../coder/result.ts";
import { upgradeSettings } from "../coderd/settings.ts";
import type { UpgradeFacts } from "./facts.ts";
import { planUpgrade } from "./plan.ts";

const NOW = Date.UTC(2026, 0, 1);
const RUNS = 20_000;
const BEFORE = 362;
const IMAGES = ["coder:v2.26.0", "coder:v2.30.0", "coder:v2.36.1", "coder:v2.36.2"] as const;
/** Images of the oldest version, under different names. */
const OLD_IMAGES = [IMAGES[0], "coder:stable", "mirror/coder@sha256:aa"] as const;
const OLD_VERSION = "v2.26.0";

/** Arbitrary combinations of facts, including contradictory ones. */
function anyFacts(dice: Dice): UpgradeFacts {
  const one = <T>(...choices: readonly T[]): T => choices[Math.floor(dice.next() * choices.length)] as T;
  const ago = () => timestamp(NOW - Math.floor(dice.next() * 1_200_000));
  const inspection: DatabaseInspection = {
    isReadOnly: one(true, false, false),
    mayMigrate: one(true, true, false),
    freeConnections: one(0, 50),
    schema: one<DatabaseInspection["schema"]>(
      { version: BEFORE, isDirty: false },
      { version: 556, isDirty: false },
      "locked",
      "missing",
    ),
    migration: one(undefined, { pid: 1, application: "", user: "", seconds: 1, blockers: [] }),
    tokenNames: [],
    replicas: [],
  };
  const record: UpgradeStatus = {
    ...{
      stage: one(...upgradeStages),
      from: one(...OLD_IMAGES),
      fromVersion: OLD_VERSION,
      to: one(...IMAGES),
    },
    ...one({}, { schemaBefore: BEFORE }),
    ...{ previous: "kept", startedAt: ago(), since: ago() },
    ...one({}, { failingSince: ago() }),
    ...one({}, { migratingSince: ago() }),
    ...one({}, { pulledAt: ago() }),
  };
  const gone = failed({ kind: "unreachable", message: "gone" } as const);
  return {
    ...{ now: NOW, generation: 2, wanted: one(...IMAGES), replicas: one(0, 1, 3), present: one(...IMAGES) },
    presentReplicas: one(0, 1, 3),
    settings: upgradeSettings(one({}, { backup: { cronJobName: "dump" } }, { strategy: "Rolling" } as const)),
    ...{ settled: one(...IMAGES), version: one("v2.26.0", "v2.36.1"), record: one(undefined, record) },
    isKept: one(true, true, false),
    pods: {
      names: one([], ["coder-1"]),
      isScaledToZero: one(true, false),
      ready: one(0, 1),
      ...{ isProbed: one(true, true, false), isLate: one(true, false) },
      isRunning: one(true, false),
      isComplete: one(true, false),
      areNewest: one(true, false),
      images: one([], [IMAGES[0]], [IMAGES[1]]),
      problem: one(undefined, { message: "It crashes.", mayResolve: one(true, false) }),
    },
    database: one<UpgradeFacts["database"]>(undefined, succeeded(inspection), gone, { why: "no SQL" }),
    image: one<UpgradeFacts["image"]>(
      { kind: "absent" },
      { kind: "pulled" },
      { kind: "failed", reason: "ImagePullFailed", message: "not found" },
    ),
    neighbors: one([], ["other"]),
    isAnnounced: one(true, false),
    builds: one<UpgradeFacts["builds"]>(undefined, 0, 2, "unknown", "unanswered"),
    backup: one(undefined, { kind: "succeeded" as const }, { kind: "failed" as const, message: "no" }),
    reported: one(undefined, succeeded("v2.36.1"), succeeded("v2.26.0")),
    followers: [],
  };
}

const NEW_PODS: ReadonlySet<string> = new Set(["Migrating", "Verifying", "ScalingOut", "Followers"]);

test("for any facts, the new version starts only after the last old pod, and is rolled back only on an unchanged schema", () => {
  const dice = new Dice(22);
  for (let run = 0; run < RUNS; run++) {
    const facts = anyFacts(dice);
    const plan = planUpgrade(facts);
    const from = facts.record?.stage ?? "none";
    if (plan.do !== "record" || !plan.record || facts.settings.strategy === "Rolling") continue;
    const to = plan.record.stage;
    const { names, isScaledToZero } = facts.pods;
    // Pods of the new version start only after all other pods are gone.
    if (to === "Migrating" && from === "ScalingDown")
      expect([names.length, isScaledToZero]).toEqual([0, true]);
    if (NEW_PODS.has(to)) expect([...NEW_PODS, "ScalingDown", "RollingBack", "Stuck"]).toContain(from);
    // The old version returns only if its schema is unchanged and no migration is running.
    if (to === "RolledBack" && from !== to) {
      const schema = facts.record?.schemaBefore ? { version: BEFORE, isDirty: false } : "missing";
      const unchanged = { ok: true, value: { schema } };
      expect(from).toBe("RollingBack");
      if (facts.record?.migratingSince) {
        expect(facts.database).toMatchObject(unchanged);
        expect([names.length, isScaledToZero]).toEqual([0, true]);
      }
    }
    // An upgrade is announced before the stages that stop the old pods.
    if (from === "Draining" && facts.wanted === facts.record?.to && to !== from)
      expect(facts.isAnnounced).toBe(true);
    // A failed backup stops the upgrade before anything has changed.
    if (to === "BackupFailed") expect(from).toBe("BackingUp");
    // The previous schema version is never read again after an attempt may have changed it.
    if (facts.record?.migratingSince && to !== "Preflight" && to !== "Draining")
      expect(plan.record.schemaBefore, `${from} → ${to}`).toBe(facts.record.schemaBefore);
    // If the schema may have changed, only a version that is later than the old and not earlier than the new
    // may follow.
    if (facts.record && plan.record.to !== facts.record.to && to === "ScalingDown") {
      const { to: next } = plan.record;
      expect(next, `${from}: ${facts.record.to} → ${next}`).not.toBe(IMAGES[0]);
      expect([facts.record.to, next]).toEqual([facts.record.to, next].toSorted());
    }
  }
});

test("for any facts, another version starts only by an upgrade or if the status records that it ran", () => {
  const dice = new Dice(23);
  for (let run = 0; run < RUNS; run++) {
    const facts = anyFacts(dice);
    const plan = planUpgrade(facts);
    const isOver = facts.record === undefined || facts.record.stage === "Completed";
    if (facts.settings.strategy === "Rolling" || !isOver || plan.do !== "rest") continue;
    const { shape } = plan;
    expect(shape.template === "spec" && [facts.present, facts.settled]).toContain(
      shape.template === "spec" && shape.image,
    );
  }
});
