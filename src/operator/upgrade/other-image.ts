import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import { schemaStanding, type UpgradeFacts } from "./facts.ts";
import { enter, type StagePlan } from "./transitions.ts";
import { compareVersions, knownVersion, versionOfImage } from "./versions.ts";

/* Handles a change of the image in the spec after the new version was started. */

/** Decides about a different image in the spec when the new version fails. Undefined if it cannot be used. */
export function planOtherImage(
  facts: UpgradeFacts,
  record: UpgradeStatus,
): ReturnType<StagePlan> | undefined {
  const { wanted } = facts;
  if (wanted === record.to) return undefined;
  if (facts.database === undefined) return { do: "ask", source: "database" };
  // The new version has not migrated anything, or the backup was restored.
  if (schemaStanding(facts, record) === "unchanged") {
    const { message: _, ...chosen } = record;
    return enter("RollingBack", chosen);
  }
  if (isRollbackTarget(wanted, record)) return undefined;
  const changed = schemaStanding(facts, record) === "changed" ? { schemaChanged: true } : {};
  return enter("ScalingDown", { ...withTarget(wanted, record), ...changed });
}

/**
 * Whether an image is the previous one, a version that is not later than the previous one, or older than the
 * version that was started. On a changed schema, only the version that may have migrated it or a later
 * version can run.
 */
export function isRollbackTarget(image: string, record: UpgradeStatus): boolean {
  const { from, fromVersion, to, toVersion, imageVersion, started = to } = record;
  const version = versionOfImage(image);
  const sinceOld = compareVersions(version, knownVersion(from, fromVersion)) ?? 1;
  // A different image that was selected but never started has migrated nothing.
  const reported = started === to ? (toVersion ?? imageVersion) : undefined;
  const sinceNew = compareVersions(version, knownVersion(started, reported)) ?? 0;
  return image === from || sinceOld <= 0 || sinceNew < 0;
}

/**
 * The next target on a schema that may have changed: the image in the spec or, if that version cannot follow,
 * the image that was started last.
 */
export function retargeted({ wanted }: UpgradeFacts, record: UpgradeStatus): UpgradeStatus {
  const to = isRollbackTarget(wanted, record) ? (record.started ?? record.to) : wanted;
  return to === record.to ? record : withTarget(to, record);
}

/** Sets a new target image, about which nothing is known yet. */
function withTarget(to: string, { imageVersion: _, ...record }: UpgradeStatus): UpgradeStatus {
  return { ...unconfirmed(record), to };
}

/** Drops the version that coderd reported for an earlier pod. */
export function unconfirmed({ toVersion: _, ...record }: UpgradeStatus): UpgradeStatus {
  return record;
}
