import {
  CronJob,
  controllerOf,
  find,
  fnv1a32,
  isForbidden,
  isNotFound,
  Job,
  type KubeObject,
  kind,
  type RunContext,
} from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { BackupSource, ControlPlane } from "../coderd/settings.ts";
import { childMetadata, commonLabels, labelLength, selectorOf, shortName } from "../names.ts";

/** A Backup of CloudNativePG, reduced to the fields used here. */
interface Backup extends KubeObject {
  spec?: { cluster: { name: string }; method?: string; pluginConfiguration?: object };
  status?: { phase?: string; error?: string };
}

const Backup = kind<Backup>("postgresql.cnpg.io/v1", { kind: "Backup", plural: "backups" });
const Cluster = kind<KubeObject>("postgresql.cnpg.io/v1", { kind: "Cluster", plural: "clusters" });

/** State of the backup before an upgrade. */
export type BackupState =
  /** The spec requests no backup. */
  | { readonly kind: "none" }
  /** The backup cannot be created. */
  | { readonly kind: "unavailable"; readonly message: string }
  | { readonly kind: "absent"; readonly wanted: BackupObject }
  | { readonly kind: "running"; readonly what: string }
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly message: string };

/** The object that starts a backup. */
export type BackupObject =
  | { readonly kind: typeof Job; readonly object: Job }
  | { readonly kind: typeof Backup; readonly object: Backup };

/**
 * Keep the Job for a week after it ends. The history limit of the CronJob could delete it before anyone has
 * looked at it.
 */
const TTL_SECONDS = 7 * 24 * 60 * 60;

/** The same name for every attempt by any process. */
export function backupName({ childName, identity }: ControlPlane, { startedAt }: UpgradeStatus): string {
  const suffix = `-upgrade-${fnv1a32(`${identity.uid}\0${startedAt}`)}`;
  return shortName(childName, { suffix, max: labelLength });
}

/** Returns the state of the backup of an upgrade. */
export function backupOf(
  controlPlane: ControlPlane,
  record: UpgradeStatus,
  context: Pick<RunContext, "client">,
): Promise<BackupState> {
  return observeBackup(controlPlane, backupName(controlPlane, record), context);
}

/**
 * Reads the state of the backup with this name, or the object to create. Waits for a running backup of an
 * earlier attempt, because concurrent backups would slow each other down.
 */
export async function observeBackup(
  controlPlane: ControlPlane,
  name: string,
  { client }: Pick<RunContext, "client">,
): Promise<BackupState> {
  const source = controlPlane.upgrade.backup;
  if (!source) return { kind: "none" };
  const look = source.kind === "cronJob" ? observeJob : observeCloudNativePG;
  try {
    return await look({ controlPlane, name, source, client });
  } catch (error) {
    if (isNotFound(error)) return { kind: "unavailable", message: missing(source) };
    if (isForbidden(error)) return { kind: "unavailable", message: refused(source) };
    throw error;
  }
}

interface Look extends Pick<RunContext, "client"> {
  readonly controlPlane: ControlPlane;
  readonly name: string;
  readonly source: BackupSource;
}

async function observeJob({ controlPlane, name, source, client }: Look): Promise<BackupState> {
  const { namespace, uid } = controlPlane.identity;
  const present = await find(client, Job, { namespace, name });
  if (present) return controllerOf(present)?.uid === uid ? jobState(present) : foreign(`Job "${name}"`);
  const cronJob = await client.get(CronJob, { namespace, name: source.name });
  const { items } = await client.list(Job, {
    namespace,
    labelSelector: selectorOf(commonLabels(controlPlane)),
  });
  const earlier = firstRunning(items.filter((job) => controllerOf(job)?.uid === uid).map(jobState));
  if (earlier) return earlier;
  return { kind: "absent", wanted: newJob(controlPlane, name, cronJob) };
}

/** A Backup has no owner, so its labels and its cluster identify it. */
async function observeCloudNativePG({ controlPlane, name, source, client }: Look): Promise<BackupState> {
  const { namespace } = controlPlane.identity;
  const present = await find(client, Backup, { namespace, name });
  if (!present) {
    await client.get(Cluster, { namespace, name: source.name });
    const labelSelector = selectorOf(commonLabels(controlPlane));
    const { items } = await client.list(Backup, { namespace, labelSelector });
    const earlier = firstRunning(
      items.filter(({ spec }) => spec?.cluster.name === source.name).map(backupState),
    );
    if (earlier) return earlier;
    return { kind: "absent", wanted: newBackup(controlPlane, name, source) };
  }
  const { labels = {} } = present.metadata;
  const isLabeled = Object.entries(commonLabels(controlPlane)).every(([key, value]) => labels[key] === value);
  const isOurs = isLabeled && present.spec?.cluster.name === source.name;
  return isOurs ? backupState(present) : foreign(`Backup "${name}"`);
}

function firstRunning(states: readonly BackupState[]): BackupState | undefined {
  const running = states.find((state) => state.kind === "running");
  return running && { ...running, what: `${running.what} from an earlier attempt` };
}

function foreign(what: string): BackupState {
  return {
    kind: "unavailable",
    message: `${what} already exists and does not belong to this control plane; delete it.`,
  };
}

function newJob(controlPlane: ControlPlane, name: string, { spec }: CronJob): BackupObject {
  const template = spec?.jobTemplate;
  const { annotations, labels } = template?.metadata ?? {};
  const manual = { ...annotations, "cronjob.kubernetes.io/instantiate": "manual" };
  const metadata = childMetadata(controlPlane, name, manual);
  const object: Job = {
    apiVersion: Job.apiVersion,
    kind: Job.kind,
    metadata: { ...metadata, labels: { ...labels, ...metadata.labels } },
    spec: {
      template: {},
      ...template?.spec,
      activeDeadlineSeconds: deadline(controlPlane, template?.spec),
      ttlSecondsAfterFinished: TTL_SECONDS,
    },
  };
  return { kind: Job, object };
}

/** Kubernetes terminates a Job that exceeds the timeout, even if no operator is running. */
function deadline({ upgrade }: ControlPlane, spec: Job["spec"]): number {
  const timeout = Math.ceil((upgrade.backup?.timeoutMs ?? 0) / 1_000);
  return Math.min(timeout, spec?.activeDeadlineSeconds ?? timeout);
}

function newBackup(controlPlane: ControlPlane, name: string, source: BackupSource): BackupObject {
  const object: Backup = {
    apiVersion: Backup.apiVersion,
    kind: Backup.kind,
    metadata: childMetadata(controlPlane, name),
    spec: { cluster: { name: source.name }, ...(source.kind === "cloudNativePG" ? source.options : {}) },
  };
  return { kind: Backup, object };
}

function jobState({ metadata, status }: Job): BackupState {
  const what = `Job "${metadata?.name}"`;
  const ended = (type: string) =>
    status?.conditions?.find((condition) => condition.type === type && condition.status === "True");
  if (ended("Complete")) return { kind: "succeeded" };
  const failure = ended("Failed");
  if (!failure) return { kind: "running", what };
  const message = `${what} failed (${failure.reason ?? "no reason given"}); check the logs of its pods.`;
  return { kind: "failed", message };
}

function backupState({ metadata, status }: Backup): BackupState {
  const what = `Backup "${metadata?.name}"`;
  if (status?.phase === "completed") return { kind: "succeeded" };
  if (status?.phase !== "failed") return { kind: "running", what };
  return { kind: "failed", message: `${what} of CloudNativePG failed; check its status.` };
}

/** Message for a missing source of the backup. */
export function missing(source: BackupSource): string {
  return source.kind === "cronJob"
    ? `CronJob "${source.name}" does not exist; create it or correct spec.upgrade.backup.cronJobName.`
    : `Cluster "${source.name}" of CloudNativePG (postgresql.cnpg.io/v1) does not exist, or CloudNativePG is not installed; create it or correct spec.upgrade.backup.cloudNativePG.clusterName.`;
}

function refused(source: BackupSource): string {
  const resource =
    source.kind === "cronJob" ? "cronjobs and jobs (batch)" : "backups and clusters (postgresql.cnpg.io)";
  return `The operator is not permitted to read ${resource} in this namespace; install the roles of this release.`;
}
