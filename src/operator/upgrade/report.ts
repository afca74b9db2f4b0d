import type { ConditionState, OwnObject } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import { stages } from "./stages.ts";
import type { Rest } from "./transitions.ts";
import { compareVersions, versionOfImage } from "./versions.ts";

const UNCONFIRMED =
  "The version is not confirmed because the operator cannot reach coderd, but the pods are ready and use the new image.";

/**
 * Condition `Upgrading`, with the stage as the reason. Without an upgrade, it only reports remaining
 * announcements.
 */
export function upgradeCondition(rest: Rest, record: UpgradeStatus | undefined): ConditionState | undefined {
  const { message = "" } = rest;
  if (!record) return message ? { status: "False", reason: "AnnouncementRemains", message } : undefined;
  const [obstacle] = rest.obstacles ?? [];
  if (obstacle) {
    const found = rest.obstacles?.map(({ message }) => message).join(" ") ?? "";
    return { status: "False", reason: obstacle.reason, message: `${route(record)} cannot start. ${found}` };
  }
  if (record.stage === "Completed")
    return { status: "False", reason: "Completed", message: `${summary(record)} ${message}`.trimEnd() };
  const status = stages[record.stage].hasFailed ? "False" : "True";
  return { status, reason: record.stage, message: messageOf(record, rest.message) };
}

function messageOf(record: UpgradeStatus, more: string | undefined): string {
  const { stage, message } = record;
  const said = [stages[stage].text, noteOnVersion(record), more || message].filter(Boolean);
  return `${route(record)}: ${said.join(" ")}`;
}

/** Explains a version of coderd that differs from the tag of its image. */
function noteOnVersion(record: UpgradeStatus): string {
  const { stage, to, toVersion } = record;
  if (!stages[stage].isConfirmed) return "";
  if (toVersion === undefined) return UNCONFIRMED;
  const tagged = versionOfImage(to);
  return (compareVersions(toVersion, tagged) ?? 0) === 0
    ? ""
    : `coderd reports version ${toVersion}, but the tag of its image is ${tagged}.`;
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
    ? `; coderd was unavailable for ${down}, including an earlier attempt`
    : `; coderd was unavailable for ${down}`;
}

function duration(from: string, to: string): string {
  const seconds = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1_000));
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

type Own = Pick<OwnObject<CoderControlPlane, ControlPlaneStatus>, "emit">;

/** Emits an event for each stage. Failures have events of their conditions. */
export function announceStage(
  next: UpgradeStatus | undefined,
  {
    record,
    settings,
  }: Pick<UpgradeFacts, "record"> & {
    readonly settings: Pick<UpgradeFacts["settings"], "strategy">;
  },
  own: Own,
): void {
  if (!next) {
    const because =
      settings.strategy === "Rolling" ? "spec.upgrade.strategy is Rolling" : "spec.image changed";
    if (record) own.emit("Normal", "UpgradeCancelled", `${route(record)} was cancelled because ${because}.`);
    return;
  }
  if (stages[next.stage].hasFailed) return;
  const message = next.stage === "Completed" ? summary(next) : messageOf(next, undefined);
  own.emit("Normal", `Upgrade${next.stage}`, message);
}

/** Pod conditions during an upgrade: the spec is not applied, and why. */
export function podsDuringUpgrade(
  condition: ConditionState | undefined,
  record: UpgradeStatus | undefined,
): (ConditionState & { readonly isStalled: boolean }) | undefined {
  if (!record || !condition || stages[record.stage].pods === "specified") return undefined;
  const isStalled = condition.status === "False";
  const reason = isStalled
    ? stages[record.stage].hasFailed
      ? record.stage
      : "UpgradeRefused"
    : "RollingOut";
  return { status: "False", reason, message: condition.message, isStalled };
}
