import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import { schemaStanding, type UpgradeFacts } from "./facts.ts";
import { enter, type StagePlan } from "./transitions.ts";
import { compareVersions, knownVersion, versionOfImage } from "./versions.ts";

/* What becomes of an upgrade when the spec names another image after its new version was started. */

/** What to do about another image in the spec when the new version does not go on; nothing where it has no way. */
export function otherWay(facts: UpgradeFacts, record: UpgradeStatus): ReturnType<StagePlan> | undefined {
  const { wanted } = facts;
  if (wanted === record.to) return undefined;
  if (facts.database === undefined) return { do: "ask", whom: "database" };
  // The new version has not migrated anything, or somebody has restored the backup.
  if (schemaStanding(facts, record) === "unchanged") {
    const { message: _, ...chosen } = record;
    return enter("RollingBack", chosen);
  }
  if (isWayBack(wanted, record)) return undefined;
  const changed = schemaStanding(facts, record) === "changed" ? { schemaChanged: true } : {};
  return enter("ScalingDown", { ...leadingTo(wanted, record), ...changed });
}

/**
 * Whether an image is the one of before the upgrade, or a version that is not later than that one, or older than the one
 * that was started. On a changed schema only the version that may have migrated it, or a later one, can serve.
 */
export function isWayBack(image: string, record: UpgradeStatus): boolean {
  const { from, fromVersion, to, toVersion, imageVersion, started = to } = record;
  const version = versionOfImage(image);
  const sinceOld = compareVersions(version, knownVersion(from, fromVersion)) ?? 1;
  // Another image that was chosen since, and never started, has migrated nothing.
  const reported = started === to ? (toVersion ?? imageVersion) : undefined;
  const sinceNew = compareVersions(version, knownVersion(started, reported)) ?? 0;
  return image === from || sinceOld <= 0 || sinceNew < 0;
}

/**
 * What the next pod on a schema that may have changed is to be: what the spec says now, or where that can't follow, what was
 * started last.
 */
export function retargeted({ wanted }: UpgradeFacts, record: UpgradeStatus): UpgradeStatus {
  const to = isWayBack(wanted, record) ? (record.started ?? record.to) : wanted;
  return to === record.to ? record : leadingTo(to, record);
}

/** Another image, of which nothing is known yet. */
function leadingTo(to: string, { imageVersion: _, ...record }: UpgradeStatus): UpgradeStatus {
  return { ...unconfirmed(record), to };
}

/** Without the version that coderd reported for an earlier pod. */
export function unconfirmed({ toVersion: _, ...record }: UpgradeStatus): UpgradeStatus {
  return record;
}
