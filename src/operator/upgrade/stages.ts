import { timestamp } from "kube-controller-runtime";
import type { UpgradeStage, UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import {
  following,
  migrating,
  rollingBack,
  scalingDown,
  scalingOut,
  stuck,
  verifying,
} from "./stages-after.ts";
import { backingUp, backupFailed, completed, draining, preflight, rolledBack } from "./stages-before.ts";
import type { Enter, StagePlan } from "./transitions.ts";

/** The properties of a stage. All sets, texts and checks of stages derive from the table. */
interface Stage {
  /** Decides the next action in the stage. */
  readonly plan: StagePlan;
  /**
   * Pods during the stage: those before the upgrade, terminating ones, the first new one, or all as
   * specified.
   */
  readonly pods: "old" | "ending" | "new" | "specified";
  /** Set for a final stage, which only a change of the spec leaves: the result of the upgrade. */
  readonly end?: "complete" | "givenUp";
  /** Whether the upgrade has failed or needs a user. */
  readonly hasFailed?: true;
  /** Whether the new version is confirmed. */
  readonly isConfirmed?: true;
  /** Whether the message of the previous stage is kept. */
  readonly keepsMessage?: true;
  readonly announcement: "announce" | "keep" | "putBack";
  /** Additional fields to record when the stage starts. */
  readonly begin?: (record: UpgradeStatus, now: string) => Partial<UpgradeStatus>;
  /** The image that the control plane reaches with this stage. */
  readonly reached?: "to" | "from";
  /** Text of the condition. */
  readonly text: string;
}

export const stages: Readonly<Record<UpgradeStage, Stage>> = {
  Preflight: {
    plan: preflight,
    pods: "old",
    announcement: "putBack",
    text: "Checking whether the upgrade can start.",
  },
  Draining: {
    plan: draining,
    pods: "old",
    announcement: "announce",
    text: "Waiting for running builds to finish.",
  },
  BackingUp: {
    plan: backingUp,
    pods: "old",
    announcement: "keep",
    text: "Backing up the database.",
  },
  ScalingDown: {
    plan: scalingDown,
    pods: "ending",
    announcement: "keep",
    begin: ({ downSince }, now) => ({ downSince: downSince || now }),
    text: "Stopping all pods of the old version.",
  },
  Migrating: {
    plan: migrating,
    pods: "new",
    announcement: "keep",
    begin: ({ migratingSince, to }, now) => ({ migratingSince: migratingSince ?? now, started: to }),
    text: "A pod of the new version is migrating the database.",
  },
  Verifying: {
    plan: verifying,
    pods: "new",
    announcement: "keep",
    text: "Checking the version that coderd reports.",
  },
  ScalingOut: {
    plan: scalingOut,
    pods: "new",
    isConfirmed: true,
    announcement: "keep",
    reached: "to",
    text: "Starting the remaining pods.",
  },
  Followers: {
    plan: following,
    pods: "specified",
    isConfirmed: true,
    announcement: "keep",
    text: "Updating the image of provisioners and proxies one by one.",
  },
  Completed: {
    plan: completed,
    pods: "specified",
    end: "complete",
    isConfirmed: true,
    announcement: "putBack",
    text: "The upgrade is complete.",
  },
  BackupFailed: {
    plan: backupFailed,
    pods: "old",
    end: "givenUp",
    hasFailed: true,
    keepsMessage: true,
    announcement: "putBack",
    text: "The backup failed, so nothing was changed. The operator retries the upgrade when the spec changes.",
  },
  RollingBack: {
    plan: rollingBack,
    pods: "ending",
    keepsMessage: true,
    announcement: "keep",
    text: "Rolling back to the old version.",
  },
  RolledBack: {
    plan: rolledBack,
    pods: "old",
    end: "givenUp",
    hasFailed: true,
    keepsMessage: true,
    announcement: "putBack",
    reached: "from",
    text: "The old version is running again with its previous pod template. The operator does not retry the new version until spec.image changes.",
  },
  Stuck: {
    plan: stuck,
    pods: "new",
    hasFailed: true,
    keepsMessage: true,
    announcement: "keep",
    text: "The new version does not start, and the operator cannot roll back automatically.",
  },
};

/** Creates the record of a new stage. Drops the failure and the message of the previous stage. */
export function entered({ stage, record }: Enter, nowMs: number): UpgradeStatus {
  const { failingSince: _, message, ...kept } = record;
  const { begin, keepsMessage } = stages[stage];
  const now = timestamp(nowMs);
  const why = keepsMessage && message !== undefined ? { message } : {};
  return { ...kept, ...begin?.(record, now), ...why, stage, since: now };
}

/** Whether an upgrade is in progress. `Stuck` is in progress, because it may continue without a user. */
export function isUpgrading(upgrade: UpgradeStatus | undefined): upgrade is UpgradeStatus {
  return upgrade !== undefined && stages[upgrade.stage].end === undefined;
}

/**
 * Whether an upgrade was given up, so that the old version is running although the spec contains a different
 * one.
 */
export function isGivenUp({ stage }: UpgradeStatus): boolean {
  return stages[stage].end === "givenUp";
}

/**
 * Whether pods of coderd or of followers are being replaced for an upgrade. Pools are not scaled in the
 * meantime.
 */
export function isReplacingPods(upgrade: UpgradeStatus | undefined): boolean {
  return isUpgrading(upgrade) && stages[upgrade.stage].pods !== "old";
}

/**
 * The image and version that the control plane reaches with a stage, recorded together with it as the
 * starting point of the next upgrade or rollback. Removes an unconfirmed version.
 */
export function reachedState(
  upgrade: UpgradeStatus | undefined,
): { readonly image: string; readonly version: string | undefined } | undefined {
  const reached = upgrade && stages[upgrade.stage].reached;
  if (!reached) return undefined;
  return reached === "to"
    ? { image: upgrade.to, version: upgrade.toVersion }
    : { image: upgrade.from, version: upgrade.fromVersion };
}
