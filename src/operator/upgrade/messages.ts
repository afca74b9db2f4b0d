import { timestamp } from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeSettings } from "../coderd/settings.ts";
import { sightOf, type UpgradeFacts, whyAway, whyNoAccess } from "./facts.ts";

/** What the database says of the migration. */
export function progress(facts: UpgradeFacts): string {
  const failure = whyAway(facts);
  if (failure) return `The database can't be asked. ${failure.message}`;
  const migration = sightOf(facts)?.migration;
  if (!migration) return "Waiting for the new pod to serve.";
  const [blocker] = migration.blockers;
  const running = `Process ${migration.pid} migrates the database, ${lasting(migration.seconds)}.`;
  if (!blocker) return running;
  const who = blocker.application ? `"${blocker.application}"` : "without a name";
  return `${running} It waits for a lock that process ${blocker.pid} of user "${blocker.user}" (application ${who}) holds, ${lasting(blocker.seconds)}: end that session, or run SELECT pg_terminate_backend(${blocker.pid}).`;
}

export function schemaChanged({ schemaBefore, to, from }: UpgradeStatus): string {
  const before = schemaBefore === undefined ? "" : ` (it was ${schemaBefore})`;
  return `The database schema has changed${before}, so the old version can't come back by itself. Correct what keeps the pod from starting, or set spec.image to a version that starts; or set spec.replicas to 0, restore the backup and set spec.image to "${from}". "${to}" is tried again until then.`;
}

export function notKnown(facts: UpgradeFacts): string {
  return `${whyNoAccess(facts) ?? ""} So nobody knows whether the database schema has changed, and the old version is not brought back by itself. Correct what keeps the pod from starting, or set spec.upgrade.strategy to Rolling and spec.image to the version that should run.`;
}

/** What to do where the spec asks to go back and nobody can see whether the backup has been restored. */
export function toRestore(facts: UpgradeFacts): string {
  const why = whyNoAccess(facts);
  const next = why
    ? `${why} Once the backup is restored, set spec.upgrade.strategy to Rolling.`
    : "The operator looks at the schema once the database answers.";
  return `No pod is started: the spec asks for "${facts.wanted}", and the new version would migrate a database that is being restored. ${next}`;
}

/** Why the image of the spec is not what runs. */
export function refusedImage({ wanted }: UpgradeFacts, { to }: UpgradeStatus): string {
  return `Image "${wanted}" of the spec is refused (DowngradeRefused): on a changed database schema only "${to}" or a later version can follow, unless the backup is restored.`;
}

/** The way back that is open until a pod of the new version was started. */
export function mayGoBack({ migratingSince, from }: UpgradeStatus): string {
  return migratingSince ? "" : ` To go back to the old version instead, set spec.image to "${from}".`;
}

export function waitingFor(pods: readonly string[]): string {
  if (pods.length === 0) return "Waiting for the Deployment to scale down.";
  const named = pods.slice(0, 3).map((name) => `"${name}"`);
  return `Waiting for the pods of the old version to end: ${named.join(", ")}${pods.length > 3 ? " and others" : ""}. If a node is lost for good, delete its Node object.`;
}

/** What to do about replicas on hosts that are not ours; undefined where there are none. */
export function strangersAmong(replicas: readonly string[], hosts: readonly string[]): string | undefined {
  const others = replicas.filter((name) => !hosts.includes(name));
  if (others.length === 0) return undefined;
  return `The database is used by coderd replicas that are not this control plane's: ${others.slice(0, 3).join(", ")}; stop them. One that has ended counts for a minute.`;
}

export function waitingForBuilds(builds: number | "unanswered", untilMs: number): string {
  const what =
    builds === "unanswered"
      ? "coderd to say which builds run"
      : builds === 1
        ? "1 running build"
        : `${builds} running builds`;
  return `Waiting for ${what}, until ${timestamp(untilMs)} at most.`;
}

/** Kubernetes ends a Job, and nothing ends a Backup of CloudNativePG. */
export function backupTooLate({ kind, timeoutMs }: NonNullable<UpgradeSettings["backup"]>): string {
  const late = `The backup was not complete within ${timeoutMs / 1_000} s.`;
  return kind === "cronJob"
    ? late
    : `${late} CloudNativePG goes on with it, and the next attempt waits until it has ended.`;
}

/** In minutes: a message that changes every second would be written every second. */
function lasting(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? "for less than a minute" : `for ${minutes} min`;
}
