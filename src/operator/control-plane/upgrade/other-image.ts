import type { UpgradeStatus } from "../../../api/v1alpha1/upgrade.ts";
import { schemaStanding, type UpgradeFacts } from "./facts.ts";
import { enter, type UpgradePlan } from "./moves.ts";
import { compareVersions, knownVersion, versionOfImage } from "./version.ts";

/* What becomes of an upgrade when the spec names another image after its new version was started. */

/** What to do about another image in the spec when the new version does not go on; nothing where it has no way. */
export function otherWay(facts: UpgradeFacts, record: UpgradeStatus): UpgradePlan | undefined {
  const { wanted } = facts;
  if (wanted === record.to) return undefined;
  if (facts.database === undefined) return { do: "ask", whom: "database" };
  // The new version has not migrated anything, or somebody has restored the backup.
  if (schemaStanding(facts, record) === "unchanged") {
    const { message: _, ...chosen } = record;
    return enter("RollingBack", facts, chosen);
  }
  if (isWayBack(wanted, record)) return undefined;
  return enter("ScalingDown", facts, { ...unconfirmed(record), to: wanted });
}

/**
 * Whether an image is the one of before the upgrade, or a version that is not later than that one, or older than the new
 * one. On a changed schema only the version that may have migrated it, or a later one, can serve.
 */
export function isWayBack(image: string, { from, fromVersion, to, toVersion }: UpgradeStatus): boolean {
  const version = versionOfImage(image);
  const sinceOld = compareVersions(version, knownVersion(from, fromVersion)) ?? 1;
  const sinceNew = compareVersions(version, knownVersion(to, toVersion)) ?? 0;
  return image === from || sinceOld <= 0 || sinceNew < 0;
}

/** Without the version that coderd reported for an earlier pod. */
export function unconfirmed({ toVersion: _, ...record }: UpgradeStatus): UpgradeStatus {
  return record;
}
