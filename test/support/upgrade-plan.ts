import { timestamp } from "kube-controller-runtime";
import type { UpgradeStage, UpgradeStatus } from "../../src/api/v1alpha1/upgrade.ts";
import type { CoderFailure } from "../../src/coder/failure.ts";
import type { DatabaseInspection } from "../../src/coder/operator-access/inspect.ts";
import { failed, succeeded } from "../../src/coder/result.ts";
import { upgradeSettings } from "../../src/operator/coderd/settings.ts";
import type { UpgradeFacts } from "../../src/operator/upgrade/facts.ts";
import type { UpgradePlan } from "../../src/operator/upgrade/transitions.ts";

/* Facts and records of an upgrade from one version to another, for tests of what is planned on them. */

export const NOW = Date.UTC(2026, 0, 1);
export const OLD = "ghcr.io/coder/coder:v2.26.0";
export const NEW = "ghcr.io/coder/coder:v2.36.1";
export const THIRD = "ghcr.io/coder/coder:v2.36.2";
export const BETWEEN = "ghcr.io/coder/coder:v2.30.0";
export const DIGEST = "mirror.example.com/coder@sha256:aa";
export const STABLE = "ghcr.io/coder/coder:stable";

export const idleDatabase: DatabaseInspection = {
  isReadOnly: false,
  mayMigrate: true,
  freeConnections: 90,
  schema: { version: 362, isDirty: false },
  migration: undefined,
  tokenNames: [],
  replicas: [],
};
export const migrated = succeeded({ ...idleDatabase, schema: { version: 556, isDirty: false } });
const migration = { pid: 7, application: "coder", user: "coder", seconds: 90, blockers: [] };
export const running = succeeded({ ...idleDatabase, schema: "locked", migration } as const);
export const gone = failed({ kind: "unreachable", message: "The database host does not answer." } as const);
export const unreported = failed({ kind: "transient", message: "coderd does not answer." } as CoderFailure);
export const noDatabase = { why: "The operator runs no SQL." };

export const noPods = {
  ...{ names: [], isScaledToZero: true, ready: 0, isProbed: true, isComplete: false },
  ...{ areNewest: false, images: [], isLate: false, isRunning: false, problem: undefined },
};
export const serving = {
  ...{ names: ["coder-1"], isScaledToZero: false, ready: 1, isProbed: true, isComplete: true },
  ...{ areNewest: true, images: [NEW], isLate: false, isRunning: true, problem: undefined },
};
export const starting = { ...serving, ready: 0, isComplete: false, images: [] };
export const halfway = { ...serving, isComplete: false };
export const crashing = {
  ...starting,
  isRunning: false,
  problem: { message: "It crashes.", mayResolve: false },
};
export const withoutCapacity = {
  ...starting,
  isRunning: false,
  problem: { message: "No node takes it.", mayResolve: true },
};

export function facts(more: Partial<UpgradeFacts> = {}): UpgradeFacts {
  return {
    now: NOW,
    generation: 2,
    settings: upgradeSettings({}),
    wanted: NEW,
    replicas: 3,
    present: OLD,
    presentReplicas: 3,
    settled: OLD,
    version: "v2.26.0",
    record: undefined,
    isKept: true,
    pods: serving,
    database: succeeded(idleDatabase),
    image: { kind: "pulled" },
    neighbors: [],
    isAnnounced: true,
    builds: 0,
    backup: { kind: "none" },
    reported: succeeded("v2.36.1"),
    followers: [],
    ...more,
  };
}

export function at(stage: UpgradeStage, more: Partial<UpgradeStatus> = {}): UpgradeStatus {
  return {
    stage,
    from: OLD,
    to: NEW,
    fromVersion: "v2.26.0",
    schemaBefore: 362,
    previous: "coder-1",
    pulledAt: timestamp(NOW - 300_000),
    hosts: ["coder-1"],
    startedAt: timestamp(NOW - 600_000),
    since: timestamp(NOW - 60_000),
    ...more,
  };
}

/** A plan in one word: the stage that is entered, what is asked, or the desired Deployment. */
export function summaryOf(plan: UpgradePlan): string {
  if (plan.do === "record") return plan.record ? `→ ${plan.record.stage}` : "→ nothing";
  if (plan.do === "ask") return `ask ${plan.source}`;
  if (plan.do !== "rest") return plan.do;
  const { shape } = plan;
  const what = shape.template === "spec" ? shape.image : shape.template;
  return `${what} × ${shape.replicas}${plan.obstacles ? ` (${plan.obstacles.map(({ reason }) => reason)})` : ""}`;
}

export const longAgo = timestamp(NOW - 61_000);
export const failing = { failingSince: longAgo };
export const began = { migratingSince: longAgo };
export const backup = upgradeSettings({ backup: { cronJobName: "backup" } });
export const toBack = { kind: "absent", wanted: undefined as never } as const;
