import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import { refusedImage } from "./messages.ts";
import { isRollbackTarget } from "./other-image.ts";
import { entered, stages } from "./stages.ts";
import { begin } from "./stages-before.ts";
import { asSpecified, type Rest, type UpgradePlan } from "./transitions.ts";

/*
 * A safe upgrade:
 *
 *     Preflight ─► Draining ─► BackingUp ─► ScalingDown ─► Migrating ─► Verifying ─► ScalingOut ─► Followers ─► Completed
 *                                  │             │           │ │  ▲  ▲      │            │
 *                                  ▼             │ other     │ │  │  └──────┴────────────┘ no pod is ready anymore
 *                            BackupFailed        ▼ image     │ │  │
 *                                            RollingBack ◄───┘ │  │ a pod is ready
 *                                                │    schema   ▼  │
 *                                                ▼  unchanged  Stuck
 *                                            RolledBack
 *
 * A different image in the spec leads from Stuck, and from Verifying and ScalingOut while they wait, to RollingBack if the
 * schema is unchanged, otherwise to ScalingDown for the new image; if the schema has changed, only to a version that is
 * not older than the one that changed it. Each stage is recorded before its first action, and decides by the observed
 * state, so any process can continue anywhere.
 */

/** The next action for the version of a control plane. */
export function planUpgrade(facts: UpgradeFacts): UpgradePlan {
  const { record, settings } = facts;
  if (settings.strategy === "Rolling")
    return record && record.stage !== "Completed" ? { do: "record", record: undefined } : asSpecified(facts);
  if (!record) return begin(facts, facts.present ?? facts.settled);
  const plan = stages[record.stage].plan(facts, record);
  if (plan.do === "enter") return { do: "record", record: entered(plan, facts.now) };
  return plan.do === "rest" ? withRefusal(plan, facts, record) : plan;
}

/** Reports an image in the spec that cannot follow the new version, which is kept. */
function withRefusal(rest: Rest, facts: UpgradeFacts, record: UpgradeStatus): Rest {
  const { shape } = rest;
  const keepsNew = shape.template !== "previous" && shape.image === record.to && shape.replicas > 0;
  if (!keepsNew || facts.wanted === record.to || !isRollbackTarget(facts.wanted, record)) return rest;
  return { ...rest, message: [refusedImage(facts, record), rest.message].filter(Boolean).join(" ") };
}
