import { timestamp } from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeSettings } from "../coderd/settings.ts";
import { accessProblem, databaseFailure, inspectionOf, type UpgradeFacts } from "./facts.ts";

/** Progress of the migration, from the database. */
export function progress(facts: UpgradeFacts): string {
  const failure = databaseFailure(facts);
  if (failure) return `The progress is unknown. ${failure.message}`;
  const migration = inspectionOf(facts)?.migration;
  if (!migration) return "Waiting for the new pod to become ready.";
  const [blocker] = migration.blockers;
  const running = `Database process ${migration.pid} has been migrating ${durationText(migration.seconds)}.`;
  if (!blocker) return running;
  const who = blocker.application ? `"${blocker.application}"` : "without name";
  return `${running} It is waiting for a lock that process ${blocker.pid} of user "${blocker.user}" (application ${who}) has held ${durationText(blocker.seconds)}; end that session, or run SELECT pg_terminate_backend(${blocker.pid}).`;
}

export function schemaChanged({ schemaBefore, to, from }: UpgradeStatus): string {
  const before = schemaBefore === undefined ? "" : ` (previously ${schemaBefore})`;
  return `The database schema has changed${before}, so the upgrade is not rolled back automatically. Correct the cause, or set spec.image to a version that starts. To return to the old version, set spec.replicas to 0, restore the backup and set spec.image to "${from}". Until then, the operator retries "${to}".`;
}

export function schemaUnknown(facts: UpgradeFacts): string {
  return `${accessProblem(facts) ?? ""} Therefore, the operator cannot determine whether the database schema has changed, and the upgrade is not rolled back automatically. Correct the cause, or set spec.upgrade.strategy to Rolling and spec.image to the version to run.`;
}

/**
 * Instructions if the spec requests the old version and the operator cannot check whether the backup was
 * restored.
 */
export function restoreInstructions(facts: UpgradeFacts): string {
  const why = accessProblem(facts);
  const next = why
    ? `${why} After you restore the backup, set spec.upgrade.strategy to Rolling.`
    : "The operator checks the schema when the database is available.";
  return `No pod is started because spec.image is "${facts.wanted}", and the new version would migrate a database that is being restored. ${next}`;
}

/** Why the image in the spec is not running. */
export function refusedImage({ wanted }: UpgradeFacts, { to }: UpgradeStatus): string {
  return `spec.image "${wanted}" is refused (DowngradeRefused): the changed database schema requires "${to}" or a later version, unless you restore the backup.`;
}

/** Instructions to return to the old version, until a pod of the new version has started. */
export function rollbackHint({ migratingSince, from }: UpgradeStatus): string {
  return migratingSince ? "" : ` To return to the old version instead, set spec.image to "${from}".`;
}

export function waitingFor(pods: readonly string[]): string {
  if (pods.length === 0) return "Waiting for the Deployment to scale down.";
  const named = pods.slice(0, 3).map((name) => `"${name}"`);
  return `Waiting for the pods of the old version to terminate: ${named.join(", ")}${pods.length > 3 ? " and others" : ""}. If a node is permanently lost, delete its Node object.`;
}

/** Message about replicas on hosts of other control planes, or undefined if there are none. */
export function foreignReplicas(replicas: readonly string[], hosts: readonly string[]): string | undefined {
  const others = replicas.filter((name) => !hosts.includes(name));
  if (others.length === 0) return undefined;
  return `The database is used by coderd replicas that do not belong to this control plane: ${others.slice(0, 3).join(", ")}; stop them. A stopped replica is listed for another minute.`;
}

export function waitingForBuilds(builds: number | "unanswered", untilMs: number): string {
  const what =
    builds === "unanswered"
      ? "coderd to report the running builds"
      : builds === 1
        ? "1 running build"
        : `${builds} running builds`;
  return `Waiting for ${what} until ${timestamp(untilMs)}.`;
}

/** Kubernetes terminates a Job, but nothing terminates a Backup of CloudNativePG. */
export function backupTooLate({ kind, timeoutMs }: NonNullable<UpgradeSettings["backup"]>): string {
  const late = `The backup did not complete within ${timeoutMs / 1_000} s.`;
  return kind === "cronJob"
    ? late
    : `${late} CloudNativePG continues the backup, and the next attempt waits until it ends.`;
}

/** Rounded to minutes, because a change of the message causes a status write. */
function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? "for less than a minute" : `for ${minutes} min`;
}
