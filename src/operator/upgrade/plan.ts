import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import { refusedImage } from "./messages.ts";
import { isWayBack } from "./other-image.ts";
import { entered, stages } from "./stages.ts";
import { begin } from "./stages-before.ts";
import { asSpecified, type Rest, type UpgradePlan } from "./transitions.ts";

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
  const plan = stages[record.stage].plan(facts, record);
  if (plan.do === "enter") return { do: "record", record: entered(plan, facts.now) };
  return plan.do === "rest" ? withRefusal(plan, facts, record) : plan;
}

/** An image in the spec that cannot follow the new version is reported while that version is kept. */
function withRefusal(rest: Rest, facts: UpgradeFacts, record: UpgradeStatus): Rest {
  const { shape } = rest;
  const keepsNew = shape.template !== "previous" && shape.image === record.to && shape.replicas > 0;
  if (!keepsNew || facts.wanted === record.to || !isWayBack(facts.wanted, record)) return rest;
  return { ...rest, message: [refusedImage(facts, record), rest.message].filter(Boolean).join(" ") };
}
