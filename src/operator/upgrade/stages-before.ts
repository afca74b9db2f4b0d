import { timestamp } from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import { hostsOf, inspectionOf, type UpgradeFacts, withHosts } from "./facts.ts";
import { backupTooLate, waitingForBuilds } from "./messages.ts";
import { obstacles } from "./preflight.ts";
import { asSpecified, enter, held, RECHECK_MS, type StagePlan, type UpgradePlan } from "./transitions.ts";
import { isAnotherVersion, isRunning } from "./versions.ts";

/* The start of an upgrade, and the stages in which the old version is still running. */

const OBSTACLE_RETRY_MS = 30_000;

/**
 * `present` is the image that runs, or would run if there were pods. `givenUp` is an earlier failed upgrade.
 */
export function begin(
  facts: UpgradeFacts,
  present: string | undefined,
  givenUp?: UpgradeStatus,
): UpgradePlan {
  const { wanted, settled, replicas, version } = facts;
  const isNews = present !== undefined && isAnotherVersion(present, wanted);
  // If only the Deployment has a different version, its image was edited or rewritten by admission.
  const running = settled ?? present;
  if (!isNews || !running || isRunning(wanted, { image: running, version }))
    return givenUp ? { do: "record", record: undefined } : asSpecified(facts);
  // Without pods, there is no upgrade: the first pods use the image in the spec.
  if (replicas === 0) return givenUp ? held(facts) : asSpecified({ ...facts, wanted: present });
  const kept = givenUp?.previous;
  // If the old version has not been available since, the outage continues.
  const downSince = givenUp?.servedAgain ? undefined : givenUp?.downSince;
  const next: UpgradeStatus = {
    stage: "Preflight",
    from: running,
    to: wanted,
    startedAt: timestamp(facts.now),
    since: timestamp(facts.now),
    ...(version ? { fromVersion: version } : {}),
    ...(kept ? { previous: kept } : {}),
    ...(downSince ? { downSince } : {}),
  };
  return { do: "record", record: next };
}

/** Before anything has changed, a different image in the spec ends the upgrade immediately. */
function beforeChange(plan: StagePlan): StagePlan {
  return (facts, record) => {
    if (facts.wanted !== record.to) return { do: "record", record: undefined };
    if (record.downSince && facts.pods.ready > 0) return { do: "record", record: withoutOutage(record) };
    const canKeep = facts.present !== undefined && !facts.isKept;
    return canKeep ? { do: "remember" } : plan(facts, record);
  };
}

/** The old version has been available since the failed attempt, so the outage is over. */
function withoutOutage({ downSince: _, ...record }: UpgradeStatus): UpgradeStatus {
  return record;
}

export const preflight = beforeChange((facts, record) => {
  if (facts.database === undefined) return { do: "ask", source: "database" };
  if (facts.settings.backup && !facts.backup) return { do: "ask", source: "backup" };
  const { from, to, imageVersion } = record;
  const found = obstacles({ ...facts, from, to, imageVersion });
  if (found.length > 0) return held(facts, { obstacles: found, recheckMs: OBSTACLE_RETRY_MS });
  if (!record.pulledAt) return untilPulled(facts, record);
  const inspection = inspectionOf(facts);
  const schemaBefore =
    typeof inspection?.schema === "object" ? { schemaBefore: inspection.schema.version } : {};
  const hosts = [...(inspection?.replicas ?? []), ...hostsOf(facts.pods)];
  return enter("Draining", { ...withHosts(record, hosts), ...schemaBefore });
});

/** A wrong image does no harm while the old version is running. */
function untilPulled(facts: UpgradeFacts, record: UpgradeStatus): UpgradePlan {
  const { image, now } = facts;
  switch (image.kind) {
    case "absent":
      return { do: "checkImage" };
    case "running":
      return held(facts, { message: image.message, recheckMs: OBSTACLE_RETRY_MS });
    case "failed":
      return held(facts, { obstacles: [image], recheckMs: OBSTACLE_RETRY_MS });
    case "pulled": {
      const version = image.version ? { imageVersion: image.version } : {};
      return { do: "record", record: { ...record, ...version, pulledAt: timestamp(now) } };
    }
  }
}

export const draining = beforeChange((facts, record) => {
  const { settings, builds, now } = facts;
  if (!facts.isAnnounced) return { do: "announce" };
  const next = settings.backup ? "BackingUp" : "ScalingDown";
  const leftMs = Date.parse(record.since) + settings.drainTimeoutMs - now;
  if (leftMs <= 0) return enter(next, record);
  if (builds === undefined) return { do: "ask", source: "builds" };
  if (builds === "unknown" || builds === 0) return enter(next, record);
  const message = waitingForBuilds(builds, now + leftMs);
  return held(facts, { message, recheckMs: Math.min(RECHECK_MS, leftMs) });
});

export const backingUp = beforeChange((facts, record) => {
  const { backup, settings, generation, now } = facts;
  if (!settings.backup) return enter("ScalingDown", record);
  if (!backup) return { do: "ask", source: "backup" };
  if (backup.kind === "succeeded") return enter("ScalingDown", record);
  const leftMs = Date.parse(record.since) + settings.backup.timeoutMs - now;
  const failure =
    backup.kind === "failed" || backup.kind === "unavailable"
      ? backup.message
      : leftMs <= 0
        ? backupTooLate(settings.backup)
        : undefined;
  const ofSpec = generation === undefined ? {} : { generation };
  if (failure !== undefined) return enter("BackupFailed", { ...record, ...ofSpec, message: failure });
  if (backup.kind === "absent") return { do: "backUp" };
  const message = backup.kind === "running" ? `Waiting for ${backup.what}.` : "Waiting for the backup.";
  return held(facts, { message, recheckMs: RECHECK_MS });
});

/** A changed spec starts a new attempt. */
export const backupFailed: StagePlan = (facts, record) => {
  const isSame = facts.wanted === record.to && facts.generation === record.generation;
  return isSame ? held(facts) : begin(facts, record.from, record);
};

export const rolledBack: StagePlan = (facts, record) => {
  const isBack = record.downSince && !record.servedAgain && facts.pods.ready > 0;
  if (isBack) return { do: "record", record: { ...record, servedAgain: timestamp(facts.now) } };
  return facts.wanted === record.to ? held(facts) : begin(facts, record.from, record);
};

export const completed: StagePlan = (facts) => begin(facts, facts.present ?? facts.settled);
