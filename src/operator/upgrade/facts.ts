import { maxUpgradeHosts } from "../../api/v1alpha1/limits.ts";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import type { DatabaseInspection } from "../../coder/operator-access/inspect.ts";
import type { Result } from "../../coder/result.ts";
import type { AccessFailure } from "../coderd/access-failure.ts";
import type { UpgradeSettings } from "../coderd/settings.ts";
import type { BackupState } from "./backup.ts";
import type { ImageCheck } from "./image-check.ts";

interface PodProblem {
  readonly message: string;
  /** Whether it may resolve without a change, for example when a node joins or a registry recovers. */
  readonly mayResolve: boolean;
}

/** The pods of a control plane, of any version. */
export interface PodFacts {
  /** All existing pods, including terminating ones. */
  readonly names: readonly string[];
  /** Whether the Deployment has been scaled to zero. */
  readonly isScaledToZero: boolean;
  readonly ready: number;
  /** Whether a readiness probe exists. Without one, every running pod is ready. */
  readonly isProbed: boolean;
  /** Whether all pods have the newest template and are available. */
  readonly isComplete: boolean;
  /** Whether pods exist, and all have the newest template. */
  readonly areNewest: boolean;
  /** Images of the ready pods, as reported by the nodes. */
  readonly images: readonly string[];
  /** Whether the newest template has exceeded the progress deadline. */
  readonly isLate: boolean;
  /** Whether the coderd container is running in a pod. */
  readonly isRunning: boolean;
  /** What prevents the newest pod from becoming ready. */
  readonly problem: PodProblem | undefined;
}

/** Host names of the coderd replicas in these pods: lowercase, up to the first dot. */
export function hostsOf({ names }: Pick<PodFacts, "names">): string[] {
  return names.map((name) => name.toLowerCase().replace(/\..*$/s, ""));
}

/** Adds host names of the operator's replicas. Returns the same record if all are known. */
export function withHosts(record: UpgradeStatus, more: readonly string[]): UpgradeStatus {
  const { hosts = [] } = record;
  const all = [...new Set([...hosts, ...more])].slice(0, maxUpgradeHosts);
  return all.length > hosts.length ? { ...record, hosts: all } : record;
}

/** Why the database must not be accessed. */
interface NoDatabase {
  readonly why: string;
}

/**
 * Number of running builds: `unknown` if coderd cannot report it, `unanswered` if it did not respond this
 * time.
 */
export type Builds = number | "unknown" | "unanswered";

/** A provisioner or workspace proxy that uses the image of its control plane. */
export interface Follower {
  /** Followers are updated in the order of their keys: provisioners first. */
  readonly key: string;
  /** Whether all its pods run the given image. */
  readonly runs: (image: string) => boolean;
}

/** Facts for the decision about an upgrade. */
export interface UpgradeFacts {
  readonly now: number;
  readonly generation: number | undefined;
  readonly settings: UpgradeSettings;
  /** Image in the spec. */
  readonly wanted: string;
  /** Number of replicas in the spec. */
  readonly replicas: number;
  /** Image of the Deployment. Absent before it exists. */
  readonly present: string | undefined;
  /** Number of replicas of the Deployment. */
  readonly presentReplicas: number;
  /** Image that was rolled out last, from the status. */
  readonly settled: string | undefined;
  /** Version that coderd reported last. */
  readonly version: string | undefined;
  readonly record: UpgradeStatus | undefined;
  /** Whether the previous pod template is stored under the recorded name. */
  readonly isKept: boolean;
  readonly pods: PodFacts;
  /** Response of the database. Absent if it was not queried in this reconcile. */
  readonly database?: NoDatabase | Result<DatabaseInspection, AccessFailure> | undefined;
  /** Control planes with a token in the same database. */
  readonly neighbors: readonly string[];
  /** Running builds. Absent if coderd was not queried in this reconcile. */
  readonly builds?: Builds | undefined;
  /** Whether the upgrade was announced in this reconcile, as far as coderd allows. */
  readonly isAnnounced?: boolean | undefined;
  /** State of the backup. Absent if it was not read in this reconcile. */
  readonly backup?: BackupState | undefined;
  /** Result of the pod that checks the new image. */
  readonly image: ImageCheck;
  /** Version that coderd reports. Absent if it was not queried in this reconcile. */
  readonly reported?: Result<string, CoderFailure> | undefined;
  readonly followers: readonly Follower[];
}

type Asked = Pick<UpgradeFacts, "database">;

type SchemaStanding = "unchanged" | "changed" | "unknown" | "noAccess";

/** Whether the schema is unchanged since before the upgrade. Unknown during a migration. */
export function schemaStanding(facts: Asked, { schemaBefore }: UpgradeStatus): SchemaStanding {
  if (accessProblem(facts)) return "noAccess";
  const inspection = inspectionOf(facts);
  if (!inspection || inspection.migration || inspection.schema === "locked") return "unknown";
  const { version, isDirty = false } = inspection.schema === "missing" ? {} : inspection.schema;
  return version === schemaBefore && !isDirty ? "unchanged" : "changed";
}

/** Whether the database reports a running migration. */
export function isBusy(facts: Asked): boolean {
  const inspection = inspectionOf(facts);
  return inspection !== undefined && (inspection.migration !== undefined || inspection.schema === "locked");
}

export function accessProblem({ database }: Asked): string | undefined {
  return database && "why" in database ? database.why : undefined;
}

/** Why an accessible database did not respond. */
export function databaseFailure({ database }: Asked): AccessFailure | undefined {
  return database && "ok" in database && !database.ok ? database.failure : undefined;
}

export function inspectionOf({ database }: Asked): DatabaseInspection | undefined {
  return database && "ok" in database && database.ok ? database.value : undefined;
}
