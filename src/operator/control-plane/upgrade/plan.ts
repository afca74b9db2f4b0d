import type { UpgradeStage } from "../../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import { asSpecified, type StagePlan, type UpgradePlan } from "./moves.ts";
import {
  following,
  migrating,
  rollingBack,
  scalingDown,
  scalingOut,
  stuck,
  verifying,
} from "./stages-after.ts";
import {
  backingUp,
  backupFailed,
  begin,
  completed,
  draining,
  preflight,
  rolledBack,
} from "./stages-before.ts";

/*
 * A safe upgrade:
 *
 *     Preflight ─► Draining ─► BackingUp ─► ScalingDown ─► Migrating ─► Verifying ─► ScalingOut ─► Followers ─► Completed
 *                                  │             │           │ │  ▲  ▲      │            │
 *                                  ▼             │ other     │ │  │  └──────┴────────────┘ no pod is ready any more
 *                            BackupFailed        ▼ image     │ │  │
 *                                            RollingBack ◄───┘ │  │ a pod is ready
 *                                                │    schema   ▼  │
 *                                                ▼  unchanged  Stuck
 *                                            RolledBack
 *
 * Another image in the spec leads from Stuck, and from Verifying and ScalingOut while they wait, to RollingBack on an
 * unchanged schema, otherwise to ScalingDown for the new image; never to an old version on a changed schema.
 * Each stage is recorded before anything is done in it, and decides by what is, so any process can go on anywhere.
 */

/** The next thing to do about the version of a control plane. */
export function planUpgrade(facts: UpgradeFacts): UpgradePlan {
  const { record, settings } = facts;
  if (settings.strategy === "Rolling")
    return record && record.stage !== "Completed" ? { do: "record", record: undefined } : asSpecified(facts);
  return record ? stages[record.stage](facts, record) : begin(facts, facts.present ?? facts.settled);
}

const stages: Readonly<Record<UpgradeStage, StagePlan>> = {
  Preflight: preflight,
  Draining: draining,
  BackingUp: backingUp,
  ScalingDown: scalingDown,
  Migrating: migrating,
  Verifying: verifying,
  ScalingOut: scalingOut,
  Followers: following,
  Completed: completed,
  BackupFailed: backupFailed,
  RollingBack: rollingBack,
  RolledBack: rolledBack,
  Stuck: stuck,
};
