import { timestamp } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import {
  at,
  BETWEEN,
  backup,
  began,
  crashing,
  DIGEST,
  facts,
  failing,
  gone,
  halfway,
  idleDatabase,
  longAgo,
  migrated,
  NEW,
  NOW,
  noDatabase,
  noPods,
  OLD,
  running,
  STABLE,
  serving,
  starting,
  summaryOf,
  THIRD,
  toBack,
  unreported,
  withoutCapacity,
} from "../../../test/support/upgrade-plan.ts";
import { type UpgradeStage, type UpgradeStatus, upgradeStages } from "../../api/v1alpha1/upgrade.ts";
import type { DatabaseInspection } from "../../coder/operator-access/inspect.ts";
import { succeeded } from "../../coder/result.ts";
import { upgradeSettings } from "../coderd/settings.ts";
import type { UpgradeFacts } from "./facts.ts";
import { planUpgrade } from "./plan.ts";
import { reachedState } from "./stages.ts";

describe("without an upgrade in progress", () => {
  test.each<[string, Partial<UpgradeFacts>, string]>([
    ["another version is an upgrade", {}, "→ Preflight"],
    [
      "a tag that is not a version is an upgrade as soon as it changes",
      { wanted: "coder:latest" },
      "→ Preflight",
    ],
    [
      "the same version from elsewhere rolls as usual",
      { wanted: "mirror/coder:2.26.0" },
      "mirror/coder:2.26.0 × 3",
    ],
    ["the same image changes nothing", { wanted: OLD }, `${OLD} × 3`],
    ["the first Deployment is not an upgrade", { present: undefined, settled: undefined }, `${NEW} × 3`],
    [
      "an operator that is new to a control plane starts nothing",
      { present: NEW, settled: undefined },
      `${NEW} × 3`,
    ],
    [
      "a deleted Deployment does not make an upgrade a first Deployment",
      { present: undefined },
      "→ Preflight",
    ],
    ["an edited Deployment is set back", { present: OLD, settled: NEW }, `${NEW} × 3`],
    [
      "an edited Deployment is set back to the same version from elsewhere",
      { present: OLD, settled: "mirror/coder:v2.36.1" },
      `${NEW} × 3`,
    ],
    [
      "the version that coderd reports is not an upgrade if the previous image names none",
      { wanted: OLD, present: DIGEST, settled: DIGEST },
      `${OLD} × 3`,
    ],
    [
      "what coderd reports does not make an upgrade of tags none",
      { wanted: NEW, version: "v2.36.1" },
      "→ Preflight",
    ],
    ["without pods the image waits until there are some", { replicas: 0 }, `${OLD} × 0`],
    ["Rolling changes nothing", { settings: upgradeSettings({ strategy: "Rolling" }) }, `${NEW} × 3`],
  ])("%s", (_case, more, expected) => {
    expect(summaryOf(planUpgrade(facts(more)))).toBe(expected);
  });
});

describe("each stage leads to the next, or waits:", () => {
  test.each<[string, UpgradeStatus, Partial<UpgradeFacts>, string]>([
    ["the pod template is kept first", at("Preflight"), { isKept: false }, "remember"],
    ["and again if it was deleted", at("BackingUp"), { isKept: false }, "remember"],
    [
      "a deleted Deployment is recreated unchanged",
      at("Draining"),
      { present: undefined, isKept: false, builds: 2 },
      "previous × 3",
    ],
    [
      "the database is asked before the upgrade begins",
      at("Preflight"),
      { database: undefined },
      "ask database",
    ],
    ["the hosts of pods that end are recorded first", at("ScalingDown", { hosts: [] }), {}, "→ ScalingDown"],
    ["with nothing against it the upgrade begins", at("Preflight"), {}, "→ Draining"],
    ["without a database too", at("Preflight"), { database: noDatabase }, "→ Draining"],
    ["coderd is asked for builds", at("Draining"), { builds: undefined }, "ask builds"],
    ["builds may finish", at("Draining"), { builds: 2 }, "previous × 3"],
    ["but not for ever", at("Draining", { since: timestamp(NOW - 600_000) }), { builds: 2 }, "→ ScalingDown"],
    [
      "a coderd that does not answer now may have builds",
      at("Draining"),
      { builds: "unanswered" },
      "previous × 3",
    ],
    [
      "but not for ever either",
      at("Draining", { since: timestamp(NOW - 600_000) }),
      { builds: "unanswered" },
      "→ ScalingDown",
    ],
    [
      "there is no wait where coderd never reports running builds",
      at("Draining"),
      { builds: "unknown" },
      "→ ScalingDown",
    ],
    ["a backup comes before anything changes", at("Draining"), { settings: backup }, "→ BackingUp"],
    ["the backup is started once", at("BackingUp"), { settings: backup, backup: toBack }, "backUp"],
    [
      "and waited for",
      at("BackingUp"),
      { settings: backup, backup: { kind: "running", what: "Job" } },
      "previous × 3",
    ],
    [
      "then the pods are stopped",
      at("BackingUp"),
      { settings: backup, backup: { kind: "succeeded" } },
      "→ ScalingDown",
    ],
    [
      "a failed backup stops the upgrade",
      at("BackingUp"),
      { settings: backup, backup: { kind: "failed", message: "no" } },
      "→ BackupFailed",
    ],
    [
      "one that takes too long has failed",
      at("BackingUp", { since: timestamp(NOW - 3_600_000) }),
      { settings: backup, backup: { kind: "running", what: "Job" } },
      "→ BackupFailed",
    ],
    ["pods are stopped with the old template", at("ScalingDown"), {}, "previous × 0"],
    [
      "one that still ends is waited for",
      at("ScalingDown"),
      { pods: { ...noPods, names: ["coder-1"] } },
      "previous × 0",
    ],
    [
      "nothing is started while the database is away",
      at("ScalingDown"),
      { pods: noPods, database: gone },
      "previous × 0",
    ],
    ["with no pod left one migrates", at("ScalingDown"), { pods: noPods }, "→ Migrating"],
    ["one pod of the new version is started", at("Migrating"), { pods: noPods }, `${NEW} × 1`],
    [
      "a running migration is waited for",
      at("Migrating", failing),
      { pods: crashing, database: running },
      `${NEW} × 1`,
    ],
    ["a pod that serves is asked for its version", at("Migrating"), { pods: serving }, "→ Verifying"],
    ["the version is confirmed", at("Verifying"), {}, "→ ScalingOut"],
    ["the old version is not accepted", at("Verifying"), { reported: succeeded("v2.26.0") }, `${NEW} × 1`],
    [
      "a coderd that can't be asked is waited for",
      at("Verifying", { since: timestamp(NOW - 179_000) }),
      { reported: unreported },
      `${NEW} × 1`,
    ],
    [
      "and then its ready pod counts",
      at("Verifying", { since: timestamp(NOW - 180_000) }),
      { reported: unreported },
      "→ ScalingOut",
    ],
    [
      "a version of coderd that its tag does not name counts by then, with all pods on the new image",
      at("Verifying", { since: timestamp(NOW - 180_000) }),
      { reported: succeeded("v2.26.0") },
      "→ ScalingOut",
    ],
    [
      "but not while a node has the old image",
      at("Verifying", { since: timestamp(NOW - 180_000) }),
      { reported: succeeded("v2.26.0"), pods: { ...serving, images: [OLD] } },
      `${NEW} × 1`,
    ],
    [
      "unless a pod of the old template is left",
      at("Verifying", { since: timestamp(NOW - 180_000) }),
      { reported: unreported, pods: { ...serving, areNewest: false } },
      `${NEW} × 1`,
    ],
    [
      "or its node has another version",
      at("Verifying", { since: timestamp(NOW - 180_000) }),
      { reported: unreported, pods: { ...serving, images: [OLD] } },
      `${NEW} × 1`,
    ],
    ["a pod that stops to serve is one that starts", at("Verifying"), { pods: starting }, "→ Migrating"],
    ["then the others are started", at("ScalingOut"), { pods: halfway }, `${NEW} × 3`],
    ["unless the first one stops to serve", at("ScalingOut"), { pods: starting }, "→ Migrating"],
    ["and the followers get their turn", at("ScalingOut"), {}, "→ Followers"],
    ["until all have the new image", at("Followers"), {}, "→ Completed"],
  ])("%s", (_case, record, more, expected) => {
    expect(summaryOf(planUpgrade(facts({ record, ...more })))).toBe(expected);
  });
});

describe("when the new pod fails", () => {
  test.each<[string, UpgradeStatus, Partial<UpgradeFacts>, string]>([
    ["it gets a minute", at("Migrating"), { pods: crashing }, "→ Migrating"],
    [
      "and is waited for meanwhile",
      at("Migrating", { failingSince: timestamp(NOW - 59_000) }),
      { pods: crashing },
      `${NEW} × 1`,
    ],
    [
      "ten minutes where a node or a registry may help",
      at("Migrating", { failingSince: timestamp(NOW - 599_000) }),
      { pods: withoutCapacity },
      `${NEW} × 1`,
    ],
    [
      "and not more",
      at("Migrating", { failingSince: timestamp(NOW - 600_000) }),
      { pods: withoutCapacity },
      "→ RollingBack",
    ],
    ["one that recovers is forgiven", at("Migrating", failing), { pods: starting }, "→ Migrating"],
    ["an unchanged schema allows to go back", at("Migrating", failing), { pods: crashing }, "→ RollingBack"],
    [
      "a changed schema does not",
      at("Migrating", failing),
      { pods: crashing, database: migrated },
      "→ Stuck",
    ],
    [
      "a database that is away decides nothing",
      at("Migrating"),
      { pods: crashing, database: gone },
      `${NEW} × 1`,
    ],
    [
      "without a database nothing goes back by itself",
      at("Migrating", failing),
      { pods: crashing, database: noDatabase },
      "→ Stuck",
    ],
    ["its pod ends first", at("RollingBack", began), { pods: crashing }, "previous × 0"],
    [
      "then the schema is looked at once more",
      at("RollingBack", began),
      { pods: noPods, database: undefined },
      "ask database",
    ],
    ["and the old version comes back", at("RollingBack", began), { pods: noPods }, "→ RolledBack"],
    [
      "unless the migration was committed meanwhile",
      at("RollingBack", began),
      { pods: noPods, database: migrated },
      "→ Migrating",
    ],
    ["the complete previous template runs", at("RolledBack"), { present: NEW }, "previous × 3"],
    ["a pod that serves after all goes on", at("Stuck"), { pods: serving }, "→ Verifying"],
    ["the new version is tried again until then", at("Stuck"), { pods: crashing }, `${NEW} × 1`],
  ])("%s", (_case, record, more, expected) => {
    expect(summaryOf(planUpgrade(facts({ record, ...more })))).toBe(expected);
  });
});

describe("when the spec changes in the middle", () => {
  test.each<[string, UpgradeStatus, Partial<UpgradeFacts>, string]>([
    ["before anything has changed the upgrade is forgotten", at("BackingUp"), { wanted: OLD }, "→ nothing"],
    ["without pods it goes back", at("ScalingDown"), { wanted: OLD, pods: noPods }, "→ RollingBack"],
    [
      "a migration that is not committed goes back too",
      at("Migrating"),
      { wanted: THIRD, pods: starting },
      "→ RollingBack",
    ],
    ["what serves is brought to its end first", at("Verifying"), { wanted: OLD }, "→ ScalingOut"],
    [
      "a correct image replaces one with a wrong version in it",
      at("Verifying"),
      { wanted: THIRD, reported: succeeded("v2.26.0"), database: migrated },
      "→ ScalingDown",
    ],
    [
      "which goes back where nothing was migrated",
      at("Verifying"),
      { wanted: OLD, reported: succeeded("v2.26.0") },
      "→ RollingBack",
    ],
    [
      "a later version replaces one whose other pods don't start",
      at("ScalingOut"),
      { wanted: THIRD, pods: halfway, database: migrated },
      "→ ScalingDown",
    ],
    [
      "the old version does not",
      at("ScalingOut"),
      { wanted: OLD, pods: halfway, database: migrated },
      `${NEW} × 3`,
    ],
    [
      "followers are not waited for",
      at("Followers", { follower: "provisioner/a", followerSince: timestamp(NOW) }),
      { wanted: THIRD, followers: [{ key: "provisioner/a", runs: () => false }] },
      "→ Completed",
    ],
    [
      "without access to the database an upgrade goes back as long as no new pod was started",
      at("RollingBack"),
      { wanted: OLD, pods: noPods, database: noDatabase },
      "→ RolledBack",
    ],
    [
      "as long as no new pod was started it goes back while the database is away",
      at("RollingBack"),
      { wanted: OLD, pods: noPods, database: gone },
      "→ RolledBack",
    ],
    [
      "as long as no new pod was started it goes back although an old one hangs on a lost node",
      at("RollingBack"),
      { wanted: OLD, pods: { ...noPods, names: ["coder-1"] } },
      "→ RolledBack",
    ],
    [
      "without access to the database it does not go back once a new pod was started",
      at("RollingBack", { migratingSince: longAgo }),
      { wanted: OLD, pods: noPods, database: noDatabase },
      "→ Migrating",
    ],
    ["no pods at all are wanted: Migrating", at("Migrating"), { replicas: 0, pods: starting }, `${NEW} × 0`],
    ["no pods at all are wanted: Stuck", at("Stuck"), { replicas: 0, pods: crashing }, `${NEW} × 0`],
    [
      "after it was given up the next attempt begins",
      at("RolledBack"),
      { wanted: THIRD, present: NEW },
      "→ Preflight",
    ],
    ["the old image ends it", at("RolledBack"), { wanted: OLD, present: NEW }, "→ nothing"],
    [
      "the old version ends it where admission had rewritten its image",
      at("RolledBack", { from: DIGEST }),
      { wanted: OLD, present: DIGEST, settled: DIGEST },
      "→ nothing",
    ],
    [
      "another spec is another attempt after a failed backup",
      at("BackupFailed", { generation: 1 }),
      {},
      "→ Preflight",
    ],
    [
      "a version that starts helps out of a changed schema",
      at("Stuck"),
      { wanted: THIRD, pods: crashing, database: migrated },
      "→ ScalingDown",
    ],
    [
      "the old version does not",
      at("Stuck"),
      { wanted: OLD, pods: crashing, database: migrated },
      `${NEW} × 1`,
    ],
    [
      "nor does a version between the old one and the new one",
      at("Stuck"),
      { wanted: BETWEEN, pods: crashing, database: migrated },
      `${NEW} × 1`,
    ],
    [
      "a version between the two does not stop a pod that serves",
      at("ScalingOut", { toVersion: "v2.36.1" }),
      { wanted: BETWEEN, pods: halfway, database: migrated },
      `${NEW} × 3`,
    ],
    [
      "nor if the tag of the new image is not a version",
      at("ScalingOut", { to: STABLE, toVersion: "v2.36.1" }),
      { wanted: BETWEEN, pods: halfway, database: migrated },
      `${STABLE} × 3`,
    ],
    [
      "the old version does not help if its tag was not a version either",
      at("Stuck", { from: STABLE }),
      { wanted: OLD, pods: crashing, database: migrated },
      `${NEW} × 1`,
    ],
    [
      "the same version from elsewhere helps out of a changed schema",
      at("Stuck"),
      { wanted: "mirror/coder:v2.36.1", pods: crashing, database: migrated },
      "→ ScalingDown",
    ],
    [
      "if the schema is unknown, the old image stops the new version: a backup may be restored meanwhile",
      at("Stuck", { migratingSince: longAgo }),
      { wanted: OLD, pods: crashing, database: noDatabase },
      `${NEW} × 0`,
    ],
    [
      "and so while the database is away",
      at("Stuck", { migratingSince: longAgo }),
      { wanted: OLD, pods: crashing, database: gone },
      `${NEW} × 0`,
    ],
    ["unless the backup was restored", at("Stuck"), { wanted: OLD, pods: crashing }, "→ RollingBack"],
    [
      "Rolling ends it at once",
      at("Stuck"),
      { settings: upgradeSettings({ strategy: "Rolling" }) },
      "→ nothing",
    ],
  ])("%s", (_case, record, more, expected) => {
    expect(summaryOf(planUpgrade(facts({ record, ...more })))).toBe(expected);
  });
});

test("a pod that fails while the database is unreachable gets its minute once the database answers", () => {
  const record = at("Migrating", failing);
  const plan = planUpgrade(facts({ record, pods: crashing, database: gone }));
  expect(plan).toMatchObject({ record: { stage: "Migrating" } });
  expect(plan).not.toHaveProperty("record.failingSince");
});

test("an upgrade starts from the requested image, not from the one that admission set", () => {
  expect(planUpgrade(facts({ present: DIGEST }))).toMatchObject({ record: { from: OLD, to: NEW } });
});

test("the version that coderd reports is kept where it is not the one of the tag", () => {
  const record = at("Verifying", { since: timestamp(NOW - 180_000) });
  const plan = planUpgrade(facts({ record, reported: succeeded("v2.26.0") }));
  expect(plan).toMatchObject({ record: { toVersion: "v2.26.0" } });
});

test("a version that was confirmed for one image does not apply to the next", () => {
  const confirmed = at("ScalingOut", { toVersion: "v2.36.1" });
  const third = planUpgrade(facts({ record: confirmed, wanted: THIRD, pods: halfway, database: migrated }));
  expect(third).toMatchObject({ record: { stage: "ScalingDown", to: THIRD } });
  expect(third).not.toHaveProperty("record.toVersion");
});

test("the recorded schema before an upgrade is kept when another version is tried on a changed schema", () => {
  const record = at("ScalingDown", { to: THIRD });
  const plan = planUpgrade(facts({ record, wanted: THIRD, pods: noPods, database: migrated }));
  expect(plan).toMatchObject({ record: { stage: "Migrating", schemaBefore: 362 } });
});

test("what the schema was before is not learned from a database that an earlier pod may have migrated", () => {
  const { schemaBefore: _, ...unseen } = at("ScalingDown", { to: THIRD, ...began });
  const plan = planUpgrade(facts({ record: unseen, wanted: THIRD, pods: noPods, database: migrated }));
  expect(plan).toMatchObject({ record: { stage: "Migrating" } });
  expect(plan).not.toHaveProperty("record.schemaBefore");
});

test("it is learned late where no new pod was started yet", () => {
  const { schemaBefore: _, ...unseen } = at("ScalingDown");
  const plan = planUpgrade(facts({ record: unseen, pods: noPods }));
  expect(plan).toMatchObject({ record: { stage: "Migrating", schemaBefore: 362 } });
});

describe("an upgrade does not begin", () => {
  const seen = (more: Partial<DatabaseInspection>) => ({ database: succeeded({ ...idleDatabase, ...more }) });
  test.each<[string, Partial<UpgradeFacts>, string]>([
    ["to an older version", { record: at("Preflight", { from: THIRD }) }, "DowngradeRefused"],
    [
      "to a version older than what coderd reports, where the tag says nothing",
      { record: at("Preflight", { from: "coder:latest" }), version: "v2.37.0" },
      "DowngradeRefused",
    ],
    [
      "to a version before the one that runs",
      { record: at("Preflight", { from: NEW, to: `${NEW}-rc.1` }), wanted: `${NEW}-rc.1` },
      "DowngradeRefused",
    ],
    ["while the database is away", { database: gone }, "DatabaseUnreachable"],
    ["on a standby", seen({ isReadOnly: true }), "DatabaseReadOnly"],
    ["as a user who may not change the schema", seen({ mayMigrate: false }), "DatabasePermissionDenied"],
    ["without free connections", seen({ freeConnections: 2 }), "NoFreeConnections"],
    ["during a migration", { database: running }, "MigrationRunning"],
    [
      "on a schema that a migration left broken",
      seen({ schema: { version: 362, isDirty: true } }),
      "SchemaDirty",
    ],
    ["while another control plane has the same database", { neighbors: ["b/coder"] }, "DatabaseShared"],
    ["while a foreign replica runs", seen({ replicas: ["coder-1", "other-1"] }), "DatabaseShared"],
    [
      "without the CronJob for its backup",
      { settings: backup, backup: { kind: "unavailable", message: "no CronJob" } },
      "BackupUnavailable",
    ],
  ])("%s", (_case, more, reason) => {
    const plan = planUpgrade(facts({ record: at("Preflight"), ...more }));
    expect(summaryOf(plan)).toBe(`previous × 3 (${reason})`);
  });
});

test("followers get the new image one after the other, and a late one does not block the others", () => {
  const done = new Set<string>();
  const followers = ["provisioner/a", "provisioner/b", "workspaceproxy/c"].map((key) => ({
    key,
    runs: () => done.has(key),
  }));
  const next = (record: UpgradeStatus, now = NOW) => planUpgrade(facts({ record, followers, now }));
  expect(next(at("Followers"))).toMatchObject({ record: { follower: "provisioner/a" } });
  const first = at("Followers", { follower: "provisioner/a", followerSince: timestamp(NOW) });
  expect(summaryOf(next(first))).toBe(`${NEW} × 3`);
  expect(next(first, NOW + 15 * 60_000)).toMatchObject({ record: { follower: "provisioner/b" } });
  done.add("provisioner/a");
  expect(next(first)).toMatchObject({ record: { follower: "provisioner/b" } });
  done.add("provisioner/b");
  done.add("workspaceproxy/c");
  expect(summaryOf(next(first))).toBe("→ Completed");
});

test("a version that was reported for an earlier image refuses no upgrade", () => {
  expect(summaryOf(planUpgrade(facts({ record: at("Preflight"), version: "v2.37.0" })))).toBe("→ Draining");
});

describe("the old image in the spec is refused once the schema has changed, from", () => {
  test.each<UpgradeStage>(["Migrating", "Verifying", "ScalingOut", "Followers", "Stuck"])("%s", (stage) => {
    const settled = stage === "ScalingOut" || stage === "Followers" ? NEW : OLD;
    const start = { record: at(stage), wanted: OLD, database: migrated, present: NEW, settled };
    expect(endOf(facts(start))).toBe("previous × 3 (DowngradeRefused)");
  });
});

/** The stage in which a reconcile ends if only the record changes, or "nowhere" for an endless loop. */
function endOf(start: UpgradeFacts): string {
  let current = start;
  for (let acts = 0; acts < 12; acts++) {
    const plan = planUpgrade(current);
    if (plan.do !== "remember" && plan.do !== "record") return summaryOf(plan);
    const { record } = current;
    const next = plan.do === "remember" ? record && { ...record, previous: "coder-1" } : plan.record;
    const isKept = plan.do === "remember" || (next?.previous !== undefined && current.isKept);
    const brought = reachedState(next);
    const reached = brought ? { settled: brought.image, version: brought.version } : {};
    current = { ...current, ...reached, isKept, record: next };
  }
  return "nowhere";
}

test.each(upgradeStages)("in stage %s a run settles for any spec, database and pods", (stage) => {
  const databases = { calm: succeeded(idleDatabase), migrated, running, gone, noDatabase };
  const circles: string[] = [];
  for (const wanted of [OLD, NEW, THIRD])
    for (const [said, database] of Object.entries(databases))
      for (const [seen, pods] of Object.entries({ noPods, serving, starting, crashing }))
        for (const more of [{}, failing]) {
          const end = endOf(facts({ record: at(stage, more), wanted, database, pods }));
          if (end === "nowhere") circles.push(`${wanted}, database ${said}, pods ${seen}`);
        }
  expect(circles).toEqual([]);
});
