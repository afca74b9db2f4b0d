import { maxUpgradeHosts } from "../../api/v1alpha1/limits.ts";
import type { UpgradeStage, UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";

/** Stages that nothing leaves but another spec. */
const OVER: ReadonlySet<UpgradeStage> = new Set(["Completed", "BackupFailed", "RolledBack"]);

/** Stages in which the pods are those of the old version, with the template that they had. */
const BEFORE: ReadonlySet<UpgradeStage> = new Set(["Preflight", "Draining", "BackingUp"]);

/** Whether an upgrade has begun that is neither complete nor given up. `Stuck` is in progress: it may go on by itself. */
export function isUpgrading(upgrade: UpgradeStatus | undefined): upgrade is UpgradeStatus {
  return upgrade !== undefined && !OVER.has(upgrade.stage);
}

/** Whether pods are being replaced for an upgrade, of coderd or of what follows it: no queue may move them then. */
export function isReplacingPods(upgrade: UpgradeStatus | undefined): boolean {
  return isUpgrading(upgrade) && !BEFORE.has(upgrade.stage);
}

/** Whether an upgrade was given up, so that the old version runs although the spec names another. */
export function isGivenUp({ stage }: UpgradeStatus): boolean {
  return stage === "BackupFailed" || stage === "RolledBack";
}

/** With more hosts whose replicas are ours; the same record where all are known. */
export function withHosts(record: UpgradeStatus, more: readonly string[]): UpgradeStatus {
  const { hosts = [] } = record;
  const all = [...new Set([...hosts, ...more])].slice(0, maxUpgradeHosts);
  return all.length > hosts.length ? { ...record, hosts: all } : record;
}

/**
 * What the control plane is brought to by entering a stage, to be recorded with it: a later upgrade, or the way back from
 * one, starts from there. A version that nobody has confirmed is forgotten.
 */
export function broughtTo(
  upgrade: UpgradeStatus | undefined,
): { readonly image: string; readonly version: string | undefined } | undefined {
  if (upgrade?.stage === "ScalingOut") return { image: upgrade.to, version: upgrade.toVersion };
  if (upgrade?.stage === "RolledBack") return { image: upgrade.from, version: upgrade.fromVersion };
  return undefined;
}
