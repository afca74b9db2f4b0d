import type { UpgradeStage, UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import { refusedImage } from "./messages.ts";
import { isWayBack } from "./other-image.ts";
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
import { asSpecified, type Rest, type StagePlan, type UpgradePlan } from "./transitions.ts";

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
 * unchanged schema, otherwise to ScalingDown for the new image; on a changed schema only to a version not older than the one that changed it.
 * Each stage is recorded before anything is done in it, and decides by what is, so any process can go on anywhere.
 */

/** The next thing to do about the version of a control plane. */
export function planUpgrade(facts: UpgradeFacts): UpgradePlan {
  const { record, settings } = facts;
  if (settings.strategy === "Rolling")
    return record && record.stage !== "Completed" ? { do: "record", record: undefined } : asSpecified(facts);
  if (!record) return begin(facts, facts.present ?? facts.settled);
  const plan = stages[record.stage](facts, record);
  return plan.do === "rest" ? withRefusal(plan, facts, record) : plan;
}

/** Whoever sets an image that can't follow the new version must hear of it while that version is kept. */
function withRefusal(rest: Rest, facts: UpgradeFacts, record: UpgradeStatus): Rest {
  const { shape } = rest;
  const keepsNew = shape.template !== "previous" && shape.image === record.to && shape.replicas > 0;
  if (!keepsNew || facts.wanted === record.to || !isWayBack(facts.wanted, record)) return rest;
  return { ...rest, message: [refusedImage(facts, record), rest.message].filter(Boolean).join(" ") };
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
