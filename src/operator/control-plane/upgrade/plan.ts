import { timestamp } from "kube-controller-runtime";
import type { UpgradeStage, UpgradeStatus } from "../../../api/v1alpha1/upgrade.ts";
import type { PodFacts, UpgradeFacts } from "./facts.ts";
import {
  backupTooLate,
  notKnown,
  progress,
  schemaChanged,
  waitingFor,
  waitingForBuilds,
} from "./messages.ts";
import {
  asSpecified,
  calm,
  enter,
  held,
  LOOK_AGAIN_MS,
  newShape,
  oneNew,
  stopped,
  type UpgradePlan,
} from "./moves.ts";
import { obstacles } from "./preflight.ts";
import { isGivenUp } from "./record.ts";
import { type SchemaStanding, schemaStanding, sightOf } from "./schema.ts";
import { compareVersions, isAnotherVersion, versionOfImage } from "./version.ts";

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
 * unchanged schema, otherwise to ScalingDown for the new image; never to an old version on a changed schema.
 * Each stage is recorded before anything is done in it, and decides by what is, so any process can go on anywhere.
 */

type StagePlan = (facts: UpgradeFacts, record: UpgradeStatus) => UpgradePlan;

const OBSTACLE_RETRY_MS = 30_000;

/** A new pod may fail for so long before the upgrade is given up: three attempts of a kubelet. */
const MOST_FAILING_MS = 60_000;

/** A cluster may take so long to add a node, and a registry to answer again. */
const MOST_WAITING_MS = 10 * 60_000;

/** Where coderd can't be asked for its version for so long, its pods count: the network may keep the operator from it. */
const MOST_UNHEARD_MS = 3 * 60_000;

/** A follower whose pods are not replaced by then does not keep the others waiting. */
const MOST_FOLLOWER_MS = 15 * 60_000;

/** The next thing to do about the version of a control plane. */
export function planUpgrade(facts: UpgradeFacts): UpgradePlan {
  const { record, settings } = facts;
  if (settings.strategy === "Rolling")
    return record && record.stage !== "Completed" ? { do: "record", record: undefined } : asSpecified(facts);
  return record ? stages[record.stage](facts, record) : begin(facts, facts.present ?? facts.settled);
}

/** `present` is the image that runs, or would if there were pods or somebody had not deleted the Deployment. */
function begin(facts: UpgradeFacts, present: string | undefined): UpgradePlan {
  const { record, wanted, settled, replicas, version } = facts;
  const isNews = present !== undefined && isAnotherVersion(present, wanted);
  const givenUp = record && isGivenUp(record) ? record : undefined;
  // The Deployment alone has another image: somebody has edited it.
  if (!isNews || settled === wanted)
    return givenUp ? { do: "record", record: undefined } : asSpecified(facts);
  // Without pods there is no upgrade, and the first pods would meet the database without one.
  if (replicas === 0) return givenUp ? held(facts) : asSpecified({ ...facts, wanted: present });
  const kept = givenUp?.previous;
  const next: UpgradeStatus = {
    stage: "Preflight",
    from: present,
    to: wanted,
    startedAt: timestamp(facts.now),
    since: timestamp(facts.now),
    ...(version ? { fromVersion: version } : {}),
    ...(kept ? { previous: kept } : {}),
  };
  return { do: "record", record: next };
}

/** Before anything has changed: another image in the spec ends the upgrade at once. */
const beforeChange =
  (plan: StagePlan): StagePlan =>
  (facts, record) => {
    if (facts.wanted !== record.to) return { do: "record", record: undefined };
    const canKeep = facts.present !== undefined && !facts.isKept;
    return canKeep ? { do: "remember" } : plan(facts, record);
  };

const preflight: StagePlan = (facts, record) => {
  if (facts.database === undefined) return { do: "ask", whom: "database" };
  if (facts.settings.backup && !facts.backup) return { do: "ask", whom: "backup" };
  const found = obstacles({ ...facts, from: record.from, to: record.to });
  if (found.length > 0) return held(facts, { obstacles: found, lookAgainMs: OBSTACLE_RETRY_MS });
  const sight = sightOf(facts);
  const schemaBefore = typeof sight?.schema === "object" ? { schemaBefore: sight.schema.version } : {};
  return enter("Draining", facts, { ...record, ...schemaBefore });
};

const draining: StagePlan = (facts, record) => {
  const { settings, builds, now } = facts;
  const next = settings.backup ? "BackingUp" : "ScalingDown";
  const leftMs = Date.parse(record.since) + settings.drainTimeoutMs - now;
  if (leftMs <= 0) return enter(next, facts, record);
  if (builds === undefined) return { do: "ask", whom: "builds" };
  if (builds === "unknown" || builds === 0) return enter(next, facts, record);
  const message = waitingForBuilds(builds, now + leftMs);
  return held(facts, { message, lookAgainMs: Math.min(LOOK_AGAIN_MS, leftMs) });
};

const backingUp: StagePlan = (facts, record) => {
  const { backup, settings, now } = facts;
  if (!settings.backup) return enter("ScalingDown", facts, record);
  if (!backup) return { do: "ask", whom: "backup" };
  if (backup.kind === "succeeded") return enter("ScalingDown", facts, record);
  const leftMs = Date.parse(record.since) + settings.backup.timeoutMs - now;
  const failure =
    backup.kind === "failed" || backup.kind === "unavailable"
      ? backup.message
      : leftMs <= 0
        ? backupTooLate(settings.backup.timeoutMs)
        : undefined;
  if (failure !== undefined)
    return enter("BackupFailed", facts, { ...record, ...generationOf(facts), message: failure });
  if (backup.kind === "absent") return { do: "backUp" };
  const message = backup.kind === "running" ? `Waiting for ${backup.what}.` : "Waiting for the backup.";
  return held(facts, { message, lookAgainMs: LOOK_AGAIN_MS });
};

/** Another spec is another attempt. */
const backupFailed: StagePlan = (facts, record) => {
  const isSame = facts.wanted === record.to && facts.generation === record.generation;
  return isSame ? held(facts) : begin({ ...facts, record: { ...record, stage: "RolledBack" } }, record.from);
};

const scalingDown: StagePlan = (facts, record) => {
  const { pods } = facts;
  if (facts.wanted !== record.to) return enter("RollingBack", facts, record);
  if (!pods.isScaledToZero || pods.names.length > 0) return stopped(waitingFor(pods.names));
  if (facts.database === undefined) return { do: "ask", whom: "database" };
  if ("ok" in facts.database && !facts.database.ok)
    return stopped(`The database can't be asked. ${facts.database.failure.message}`);
  const { schema } = sightOf(facts) ?? {};
  // A schema that an earlier attempt has changed must never pass for the one before the upgrade.
  const known = record.schemaBefore ?? (typeof schema === "object" ? schema.version : undefined);
  return enter("Migrating", facts, { ...record, ...(known === undefined ? {} : { schemaBefore: known }) });
};

const migrating: StagePlan = (facts, record) => {
  const { pods, now } = facts;
  if (pods.ready > 0) return enter("Verifying", facts, { ...record, servedAgain: timestamp(now) });
  if (facts.database === undefined) return { do: "ask", whom: "database" };
  const standing = schemaStanding(facts, record);
  // On a changed schema only the new version can serve, whatever the spec asks for by now.
  const mayGoBack = standing === "unchanged" || standing === "unknown";
  if (facts.wanted !== record.to && mayGoBack) return enter("RollingBack", facts, record);
  if (!pods.trouble) return record.failingSince ? calm(record) : oneNew(facts, record, progress(facts));
  if (!record.failingSince) return { do: "record", record: { ...record, failingSince: timestamp(now) } };
  const { message, mayPass } = pods.trouble;
  const leftMs = Date.parse(record.failingSince) + (mayPass ? MOST_WAITING_MS : MOST_FAILING_MS) - now;
  if (leftMs > 0) return oneNew(facts, record, message);
  return giveUp(standing, { facts, record, trouble: message });
};

interface Failure {
  readonly facts: UpgradeFacts;
  readonly record: UpgradeStatus;
  readonly trouble: string;
}

/** The new pod fails: what the database says decides whether there is a way back. */
function giveUp(standing: SchemaStanding, { facts, record, trouble }: Failure): UpgradePlan {
  switch (standing) {
    case "unchanged":
      return enter("RollingBack", facts, { ...record, message: trouble });
    case "changed":
      return enter("Stuck", facts, { ...record, message: `${trouble} ${schemaChanged(record)}` });
    case "noAccess":
      return enter("Stuck", facts, { ...record, message: `${trouble} ${notKnown(facts)}` });
    case "unknown":
      return oneNew(facts, record, `${trouble} ${progress(facts)}`);
  }
}

const verifying: StagePlan = (facts, record) => {
  const { reported, pods, now } = facts;
  if (pods.ready === 0) return enter("Migrating", facts, record);
  if (reported === undefined) return { do: "ask", whom: "version" };
  if (reported.ok && !isOldVersion(reported.value, record))
    return enter("ScalingOut", facts, { ...record, toVersion: reported.value });
  const isUnheard = !reported.ok && now - Date.parse(record.since) >= MOST_UNHEARD_MS;
  if (isUnheard && isOnNode(pods, record)) return enter("ScalingOut", facts, unconfirmed(record));
  const said = reported.ok
    ? `coderd still reports version ${reported.value}.`
    : `Waiting for coderd to report its version. ${reported.failure.message}`;
  return otherWay(facts, record) ?? oneNew(facts, record, said);
};

const scalingOut: StagePlan = (facts, record) => {
  const { pods } = facts;
  if (pods.isComplete) return enter("Followers", facts, record);
  const other = otherWay(facts, record);
  if (other) return other;
  if (pods.ready === 0) return enter("Migrating", facts, record);
  const message = pods.trouble ? { message: pods.trouble.message } : {};
  return { do: "rest", shape: newShape(facts, record), ...message, lookAgainMs: LOOK_AGAIN_MS };
};

const following: StagePlan = (facts, record) => {
  // Another image must not wait for followers; they get this one at once.
  if (facts.wanted !== record.to) return enter("Completed", facts, record);
  const shape = newShape(facts, record);
  const turn = facts.followers.find(({ key }) => key === record.follower);
  const waitedMs = facts.now - Date.parse(record.followerSince ?? record.since);
  if (turn && !turn.runs(record.to) && waitedMs < MOST_FOLLOWER_MS)
    return { do: "rest", shape, message: `Waiting for ${turn.key}.`, lookAgainMs: LOOK_AGAIN_MS };
  const next = facts.followers.find(({ key, runs }) => key > (record.follower ?? "") && !runs(record.to));
  if (!next) return enter("Completed", facts, record);
  return { do: "record", record: { ...record, follower: next.key, followerSince: timestamp(facts.now) } };
};

/** No pod of the new version must run when the schema is looked at for the last time. */
const rollingBack: StagePlan = (facts, record) => {
  const { pods } = facts;
  if (!pods.isScaledToZero || pods.names.length > 0) return stopped(waitingFor(pods.names));
  if (facts.database === undefined) return { do: "ask", whom: "database" };
  switch (schemaStanding(facts, record)) {
    case "unchanged":
      return enter("RolledBack", facts, record);
    case "changed":
      return enter("Migrating", facts, record);
    case "noAccess":
      return enter(record.migratingSince ? "Migrating" : "RolledBack", facts, record);
    case "unknown":
      return stopped(progress(facts));
  }
};

const rolledBack: StagePlan = (facts, record) =>
  facts.wanted === record.to ? held(facts) : begin(facts, record.from);

const stuck: StagePlan = (facts, record) => {
  if (facts.pods.ready > 0)
    return enter("Verifying", facts, { ...record, servedAgain: timestamp(facts.now) });
  return otherWay(facts, record) ?? oneNew(facts, record, record.message, OBSTACLE_RETRY_MS);
};

/** What to do about another image in the spec when the new version does not go on; nothing where it has no way. */
function otherWay(facts: UpgradeFacts, record: UpgradeStatus): UpgradePlan | undefined {
  const { wanted } = facts;
  if (wanted === record.to) return undefined;
  if (facts.database === undefined) return { do: "ask", whom: "database" };
  // The new version has not migrated anything, or somebody has restored the backup.
  if (schemaStanding(facts, record) === "unchanged") return enter("RollingBack", facts, record);
  if (isWayBack(wanted, record)) return undefined;
  return enter("ScalingDown", facts, { ...unconfirmed(record), to: wanted });
}

const completed: StagePlan = (facts) => begin(facts, facts.present ?? facts.settled);

const stages: Readonly<Record<UpgradeStage, StagePlan>> = {
  Preflight: beforeChange(preflight),
  Draining: beforeChange(draining),
  BackingUp: beforeChange(backingUp),
  ScalingDown: scalingDown,
  Migrating: migrating,
  Verifying: verifying,
  ScalingOut: scalingOut,
  Followers: following,
  Completed: completed,
  BackupFailed: backupFailed,
  RollingBack: rollingBack,
  RolledBack: rolledBack,
  Stuck: stuck,
};

/** An answer of the version before although the tag promises another: a replica that should be gone, or a wrong build. */
function isOldVersion(reported: string, { fromVersion, to }: UpgradeStatus): boolean {
  const promised = versionOfImage(to);
  const isOld = compareVersions(reported, fromVersion) === 0;
  return isOld && promised !== undefined && compareVersions(promised, fromVersion) !== 0;
}

/** Whether all pods are of the new template, and no node reports another version for one. */
function isOnNode({ areNewest, images }: PodFacts, { to }: UpgradeStatus): boolean {
  const isOther = (image: string) => (compareVersions(versionOfImage(image), versionOfImage(to)) ?? 0) !== 0;
  return areNewest && !images.some(isOther);
}

/** Without the version that coderd reported for an earlier pod. */
function unconfirmed({ toVersion: _, ...record }: UpgradeStatus): UpgradeStatus {
  return record;
}

/** Whether an image is the one of before the upgrade, or older: neither serves on the schema of the new version. */
function isWayBack(image: string, { from }: UpgradeStatus): boolean {
  const age = compareVersions(versionOfImage(image), versionOfImage(from));
  return image === from || (age !== undefined && age <= 0);
}

function generationOf({ generation }: UpgradeFacts) {
  return generation === undefined ? {} : { generation };
}
