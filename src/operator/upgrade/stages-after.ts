import { timestamp } from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import {
  databaseFailure,
  hostsOf,
  inspectionOf,
  isBusy,
  type PodFacts,
  schemaStanding,
  type UpgradeFacts,
  withHosts,
} from "./facts.ts";
import {
  foreignReplicas,
  progress,
  restoreInstructions,
  rollbackHint,
  schemaChanged,
  schemaUnknown,
  waitingFor,
} from "./messages.ts";
import { isRollbackTarget, planOtherImage, retargeted, unconfirmed } from "./other-image.ts";
import { allNew, clearFailure, enter, migrator, oneNew, type StagePlan, stopped } from "./transitions.ts";
import { compareVersions, isSameBuild, versionOfImage } from "./versions.ts";

/* The stages after the last old pod has stopped, and the rollback. */

/** A new pod may fail for this time before the upgrade is given up: three attempts of a kubelet. */
const MAX_FAILING_MS = 60_000;

/** Time for a cluster to add a node, or for a registry to recover. */
const MAX_WAITING_MS = 10 * 60_000;

/**
 * If coderd does not report the version of its tag for this time, its ready pods suffice: the network may
 * block the operator, and tags may use a different numbering.
 */
const MAX_UNANSWERED_MS = 3 * 60_000;

/** Maximum time to wait for the pods of a follower before the next one is updated. */
const MAX_FOLLOWER_MS = 15 * 60_000;

/** Delay before a failing new pod is checked again. */
const STUCK_RETRY_MS = 30_000;

export const scalingDown: StagePlan = (facts, record) => {
  const { pods } = facts;
  if (facts.wanted !== record.to) return enter("RollingBack", record);
  const hosts = withHosts(record, hostsOf(pods));
  if (hosts !== record) return { do: "record", record: hosts };
  if (!pods.isScaledToZero || pods.names.length > 0)
    return stopped(`${waitingFor(pods.names)}${rollbackHint(record)}`);
  if (facts.database === undefined) return { do: "ask", source: "database" };
  if (databaseFailure(facts)) return stopped(`${progress(facts)}${rollbackHint(record)}`);
  // Without pods of this control plane, a live replica belongs to another one and would run on the new
  // schema.
  const unknownReplicas = foreignReplicas(inspectionOf(facts)?.replicas ?? [], record.hosts ?? []);
  if (unknownReplicas) return stopped(`${unknownReplicas}${rollbackHint(record)}`);
  return enter("Migrating", { ...record, ...schemaBefore(facts, record) });
};

/**
 * A schema that an earlier pod of the upgrade may have changed must not be recorded as the previous schema.
 */
function schemaBefore(facts: UpgradeFacts, record: UpgradeStatus): Pick<UpgradeStatus, "schemaBefore"> {
  const { schema } = inspectionOf(facts) ?? {};
  const isKnown = record.schemaBefore !== undefined || record.migratingSince !== undefined;
  return isKnown || typeof schema !== "object" ? {} : { schemaBefore: schema.version };
}

/**
 * The next action after a pod is ready. Without a probe, a response of coderd or the absence of a migration
 * confirms that it is available.
 */
function ifServed(facts: UpgradeFacts, record: UpgradeStatus): ReturnType<StagePlan> | undefined {
  const { pods, now, reported } = facts;
  if (pods.ready === 0) return undefined;
  const served = enter("Verifying", { ...record, servedAgain: timestamp(now) });
  if (pods.isProbed) return served;
  if (reported === undefined) return { do: "ask", source: "version" };
  if (reported.ok) return isOldVersion(reported.value, record) ? undefined : served;
  if (facts.database === undefined) return { do: "ask", source: "database" };
  const inspection = inspectionOf(facts);
  return inspection && !isBusy(facts) && now - Date.parse(record.since) >= MAX_UNANSWERED_MS
    ? served
    : undefined;
}

export const migrating: StagePlan = (facts, record) => {
  const { pods, now } = facts;
  const served = ifServed(facts, record);
  if (served) return served;
  if (facts.database === undefined) return { do: "ask", source: "database" };
  const standing = schemaStanding(facts, record);
  // On a changed schema, only the new version can run, whatever the spec contains now.
  const isUnmigrated = standing === "unchanged" || (standing === "unknown" && !record.schemaChanged);
  // A process may have stopped before it started a pod. In this case, the spec applies again.
  const isUnstarted = pods.isScaledToZero && retargeted(facts, record).to !== record.to;
  if (facts.wanted !== record.to && (isUnmigrated || isUnstarted)) return enter("RollingBack", record);
  // No pod can start without its database, so its deadline starts when the database responds.
  if (!pods.problem || isMigratingNow(facts) || databaseFailure(facts)) {
    const said = [progress(facts), pods.problem?.message].filter(Boolean).join(" ");
    if (record.failingSince) return clearFailure(record);
    if (mayMigrate(facts, record)) return migrator(facts, record, said);
    return (isOverdue(facts) ? planOtherImage(facts, record) : undefined) ?? oneNew(facts, record, said);
  }
  if (!record.failingSince) return { do: "record", record: { ...record, failingSince: timestamp(now) } };
  const { message, mayResolve } = pods.problem;
  const leftMs = Date.parse(record.failingSince) + (mayResolve ? MAX_WAITING_MS : MAX_FAILING_MS) - now;
  if (leftMs > 0) return oneNew(facts, record, message);
  return giveUp(facts, record, message);
};

/**
 * Whether the new pod is running and may be migrating the database. Replacing it, for example for a change of
 * the spec or a certificate, would restart the migration.
 */
function mayMigrate(facts: UpgradeFacts, { to }: UpgradeStatus): boolean {
  const { pods, present = "", replicas } = facts;
  if (pods.isScaledToZero || replicas === 0 || !isSameBuild(present, to)) return false;
  return isMigratingNow(facts) || (!pods.problem && !isOverdue(facts));
}

/** A pod that crashed earlier may be migrating now. */
function isMigratingNow(facts: UpgradeFacts): boolean {
  return facts.pods.isRunning && isBusy(facts);
}

/**
 * Whether the new pod exceeded its deadline without a known migration and therefore needs a different spec.
 * Without database access, only the deadline counts.
 */
function isOverdue(facts: UpgradeFacts): boolean {
  return facts.pods.isLate && !isBusy(facts) && !databaseFailure(facts);
}

/**
 * The new pod failed. The database determines whether a rollback is possible. The cause comes last in the
 * message because it ends with a command to copy.
 */
function giveUp(facts: UpgradeFacts, record: UpgradeStatus, problem: string): ReturnType<StagePlan> {
  switch (schemaStanding(facts, record)) {
    case "unchanged":
      return enter("RollingBack", { ...record, message: problem });
    case "changed":
      return enter("Stuck", { ...record, message: `${schemaChanged(record)} ${problem}` });
    case "noAccess":
      return enter("Stuck", { ...record, message: `${schemaUnknown(facts)} ${problem}` });
    case "unknown":
      return oneNew(facts, record, `${progress(facts)} ${problem}`);
  }
}

export const verifying: StagePlan = (facts, record) => {
  const { reported, pods, now } = facts;
  if (pods.ready === 0) return enter("Migrating", record);
  if (reported === undefined) return { do: "ask", source: "version" };
  if (reported.ok && !isOldVersion(reported.value, record))
    return enter("ScalingOut", { ...record, toVersion: reported.value });
  const isLate = now - Date.parse(record.since) >= MAX_UNANSWERED_MS;
  const version = reported.ok ? { toVersion: reported.value } : {};
  if (isLate && isOnNode(pods, record)) return enter("ScalingOut", { ...unconfirmed(record), ...version });
  const said = reported.ok
    ? `coderd still reports version ${reported.value}.`
    : `Waiting for coderd to report its version. ${reported.failure.message}`;
  return planOtherImage(facts, record) ?? oneNew(facts, record, said);
};

export const scalingOut: StagePlan = (facts, record) => {
  const { pods } = facts;
  if (pods.isComplete) return enter("Followers", record);
  const other = planOtherImage(facts, record);
  if (other) return other;
  if (pods.ready === 0) return enter("Migrating", record);
  return allNew(facts, record, pods.problem?.message);
};

export const following: StagePlan = (facts, record) => {
  // A different image need not wait for followers; they get the current one at once.
  if (facts.wanted !== record.to) return enter("Completed", record);
  const turn = facts.followers.find(({ key }) => key === record.follower);
  const waitedMs = facts.now - Date.parse(record.followerSince ?? record.since);
  if (turn && !turn.runs(record.to) && waitedMs < MAX_FOLLOWER_MS)
    return allNew(facts, record, `Waiting for ${turn.key}.`);
  const next = facts.followers.find(({ key, runs }) => key > (record.follower ?? "") && !runs(record.to));
  if (!next) return enter("Completed", record);
  return { do: "record", record: { ...record, follower: next.key, followerSince: timestamp(facts.now) } };
};

/**
 * No pod of the new version may be running during the final check of the schema. If none was ever started,
 * the schema is unchanged.
 */
export const rollingBack: StagePlan = (facts, record) => {
  const { pods } = facts;
  if (!record.migratingSince) return enter("RolledBack", record);
  if (!pods.isScaledToZero || pods.names.length > 0) return stopped(waitingFor(pods.names));
  if (facts.database === undefined) return { do: "ask", source: "database" };
  switch (schemaStanding(facts, record)) {
    case "unchanged":
      return enter("RolledBack", record);
    case "changed":
      return enter("Migrating", { ...retargeted(facts, record), schemaChanged: true });
    case "noAccess":
      return enter("Migrating", retargeted(facts, record));
    case "unknown":
      return stopped(progress(facts));
  }
};

export const stuck: StagePlan = (facts, record) => {
  const served = ifServed(facts, record);
  if (served) return served;
  const other = planOtherImage(facts, record);
  if (other) return other;
  // The new version would migrate a database that is being restored.
  const mayBeRestored = isRollbackTarget(facts.wanted, record) && schemaStanding(facts, record) !== "changed";
  const rest = mayBeRestored
    ? oneNew({ ...facts, replicas: 0 }, record, restoreInstructions(facts))
    : oneNew(facts, record, record.message);
  return { ...rest, recheckMs: STUCK_RETRY_MS };
};

/**
 * Whether coderd reports the previous version although the tag is different: an old replica or a wrong build.
 */
function isOldVersion(reported: string, { fromVersion, to }: UpgradeStatus): boolean {
  const promised = versionOfImage(to);
  const isOld = compareVersions(reported, fromVersion) === 0;
  return isOld && promised !== undefined && compareVersions(promised, fromVersion) !== 0;
}

/** Whether all pods have the new template, and no node reports a different version. */
function isOnNode({ areNewest, images }: PodFacts, { to }: UpgradeStatus): boolean {
  const isOther = (image: string) => (compareVersions(versionOfImage(image), versionOfImage(to)) ?? 0) !== 0;
  return areNewest && !images.some(isOther);
}
