import type { ConditionState, OwnObject } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { UpgradeStage, UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import type { Rest } from "./transitions.ts";
import { compareVersions, versionOfImage } from "./versions.ts";

const descriptions: Readonly<Record<UpgradeStage, string>> = {
  Preflight: "Checks whether the upgrade can begin.",
  Draining: "Lets running builds finish.",
  BackingUp: "Makes a backup of the database.",
  ScalingDown: "Stops all pods of the old version.",
  Migrating: "One pod of the new version migrates the database.",
  Verifying: "Checks the version that coderd reports.",
  ScalingOut: "Starts the other pods.",
  Followers: "Provisioners and proxies get the new image, one after the other.",
  Completed: "The upgrade is complete.",
  BackupFailed:
    "The backup failed, so nothing was changed. The upgrade is tried again when the spec changes.",
  RollingBack: "Goes back to the old version.",
  RolledBack:
    "The old version runs again, with the pod template of before. The new one is not tried again until spec.image changes.",
  Stuck: "The new version does not start and there is no way back by itself.",
};

/** Stages that end an upgrade otherwise than it was meant, or in which only a person can help. */
const FAILED: ReadonlySet<UpgradeStage> = new Set(["BackupFailed", "RolledBack", "Stuck"]);

/** Stages after the version was confirmed. */
const CONFIRMED: ReadonlySet<UpgradeStage> = new Set(["ScalingOut", "Followers", "Completed"]);
const UNCONFIRMED =
  "The operator can't reach coderd, so its version is not confirmed: its pods are ready and have the new image.";

/** Condition `Upgrading`: the stage is the reason. Without an upgrade there is only what an earlier one has left to do. */
export function upgradeCondition(rest: Rest, record: UpgradeStatus | undefined): ConditionState | undefined {
  const { message = "" } = rest;
  if (!record) return message ? { status: "False", reason: "AnnouncementRemains", message } : undefined;
  const [obstacle] = rest.obstacles ?? [];
  if (obstacle) {
    const found = rest.obstacles?.map(({ message }) => message).join(" ") ?? "";
    return { status: "False", reason: obstacle.reason, message: `${route(record)} can't begin. ${found}` };
  }
  if (record.stage === "Completed")
    return { status: "False", reason: "Completed", message: `${summary(record)} ${message}`.trimEnd() };
  const status = FAILED.has(record.stage) ? "False" : "True";
  return { status, reason: record.stage, message: messageOf(record, rest.message) };
}

function messageOf(record: UpgradeStatus, more: string | undefined): string {
  const { stage, message } = record;
  const said = [descriptions[stage], noteOnVersion(record), more || message].filter(Boolean);
  return `${route(record)}: ${said.join(" ")}`;
}

/** Where coderd's version is not that of its tag, only the pods show that the image is the new one. */
function noteOnVersion(record: UpgradeStatus): string {
  const { stage, to, toVersion } = record;
  if (!CONFIRMED.has(stage)) return "";
  if (toVersion === undefined) return UNCONFIRMED;
  const tagged = versionOfImage(to);
  return (compareVersions(toVersion, tagged) ?? 0) === 0
    ? ""
    : `coderd reports version ${toVersion}, although the tag of its image is ${tagged}.`;
}

function route({ from, fromVersion, to, toVersion }: UpgradeStatus): string {
  const before = fromVersion ?? versionOfImage(from) ?? `"${from}"`;
  return `Upgrade from ${before} to ${toVersion ?? versionOfImage(to) ?? `"${to}"`}`;
}

function summary(record: UpgradeStatus): string {
  const took = `${route(record)} took ${duration(record.startedAt, record.since)}`;
  return `${took}${outage(record)}. ${noteOnVersion(record)}`.trimEnd();
}

function outage({ startedAt, downSince, servedAgain }: UpgradeStatus): string {
  if (!downSince || !servedAgain) return "";
  const down = duration(downSince, servedAgain);
  return Date.parse(downSince) < Date.parse(startedAt)
    ? `; people were not served for ${down}, an earlier attempt included`
    : `, ${down} of it without service`;
}

function duration(from: string, to: string): string {
  const seconds = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1_000));
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

type Own = Pick<OwnObject<CoderControlPlane, ControlPlaneStatus>, "emit">;

/** An event for every stage; what a condition reports as a failure has its own. */
export function announceStage(
  next: UpgradeStatus | undefined,
  { record }: Pick<UpgradeFacts, "record">,
  own: Own,
): void {
  if (!next) {
    if (record) own.emit("Normal", "UpgradeCancelled", `${route(record)} is not wanted any more.`);
    return;
  }
  if (FAILED.has(next.stage)) return;
  const message = next.stage === "Completed" ? summary(next) : messageOf(next, undefined);
  own.emit("Normal", `Upgrade${next.stage}`, message);
}

/** What the conditions of the pods say meanwhile: the spec is not what runs, and why. */
export function podsDuringUpgrade(
  condition: ConditionState | undefined,
  record: UpgradeStatus | undefined,
): (ConditionState & { readonly isStalled: boolean }) | undefined {
  if (!record || !condition || record.stage === "Completed" || record.stage === "Followers") return undefined;
  const isStalled = condition.status === "False";
  const reason = isStalled ? (FAILED.has(record.stage) ? record.stage : "UpgradeRefused") : "RollingOut";
  return { status: "False", reason, message: condition.message, isStalled };
}
