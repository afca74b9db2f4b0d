import { maxUpgradeHosts } from "../../api/v1alpha1/limits.ts";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import type { DatabaseInspection } from "../../coder/operator-access/inspect.ts";
import type { Result } from "../../coder/result.ts";
import type { AccessFailure } from "../coderd/access-failure.ts";
import type { UpgradeSettings } from "../coderd/settings.ts";
import type { BackupState } from "./backup.ts";
import type { ImageCheck } from "./image-check.ts";

interface PodTrouble {
  readonly message: string;
  /** Whether the cluster may resolve it by itself: a node joins, a registry answers again. */
  readonly mayPass: boolean;
}

/** The pods of a control plane, whatever their version. */
export interface PodFacts {
  /** Those that there are, those that end among them. */
  readonly names: readonly string[];
  /** Whether the Deployment has been brought to no pods at all. */
  readonly isScaledToZero: boolean;
  readonly ready: number;
  /** Whether a probe says when a pod serves; without one every pod that runs is ready. */
  readonly isProbed: boolean;
  /** All are there, of the newest template, and available. */
  readonly isComplete: boolean;
  /** There are pods, and none of an older template. */
  readonly areNewest: boolean;
  /** The images that nodes report for those that are ready. */
  readonly images: readonly string[];
  /** Whether the newest template takes longer to roll out than the Deployment's deadline. */
  readonly isLate: boolean;
  /** Whether coderd's container runs in one of them. */
  readonly isRunning: boolean;
  /** What keeps the newest pod from becoming ready. */
  readonly trouble: PodTrouble | undefined;
}

/** The host names by which coderd's replicas in these pods are known: lower case, and up to the first dot. */
export function hostsOf({ names }: Pick<PodFacts, "names">): string[] {
  return names.map((name) => name.toLowerCase().replace(/\..*$/s, ""));
}

/** With more hosts whose replicas are ours; the same record where all are known. */
export function withHosts(record: UpgradeStatus, more: readonly string[]): UpgradeStatus {
  const { hosts = [] } = record;
  const all = [...new Set([...hosts, ...more])].slice(0, maxUpgradeHosts);
  return all.length > hosts.length ? { ...record, hosts: all } : record;
}

/** Why no SQL may be run. */
interface NoDatabase {
  readonly why: string;
}

/** Builds that run: `unknown` where coderd never says, `unanswered` where it did not say this time. */
export type Builds = number | "unknown" | "unanswered";

/** A provisioner or workspace proxy that takes the image of its control plane. */
export interface Follower {
  /** Followers are given the new image in the order of their keys: provisioners first. */
  readonly key: string;
  /** Whether all its pods run the given image. */
  readonly runs: (image: string) => boolean;
}

/** All that the decision about an upgrade rests on. */
export interface UpgradeFacts {
  readonly now: number;
  readonly generation: number | undefined;
  readonly settings: UpgradeSettings;
  /** The image of the spec. */
  readonly wanted: string;
  /** How many pods the spec asks for. */
  readonly replicas: number;
  /** The image of the Deployment; absent before there is one. */
  readonly present: string | undefined;
  /** How many pods the Deployment asks for. */
  readonly presentReplicas: number;
  /** The image that the control plane was last brought to, as the status has it. */
  readonly settled: string | undefined;
  /** The version that coderd reported last. */
  readonly version: string | undefined;
  readonly record: UpgradeStatus | undefined;
  /** Whether the pod template of before the upgrade is kept, under the name that is recorded. */
  readonly isKept: boolean;
  readonly pods: PodFacts;
  /** What the database says; absent while it was not asked in this run. */
  readonly database?: NoDatabase | Result<DatabaseInspection, AccessFailure> | undefined;
  /** Control planes that have their token in the same database. */
  readonly neighbors: readonly string[];
  /** Builds that run; absent while coderd was not asked in this run. */
  readonly builds?: Builds | undefined;
  /** Whether the upgrade was announced in this run, as far as coderd lets it. */
  readonly isAnnounced?: boolean | undefined;
  /** How far the backup is; absent while nobody has looked in this run. */
  readonly backup?: BackupState | undefined;
  /** What is known of the new image, by the pod that checks it. */
  readonly image: ImageCheck;
  /** The version that coderd reports; absent while it was not asked in this run. */
  readonly reported?: Result<string, CoderFailure> | undefined;
  readonly followers: readonly Follower[];
}

type Asked = Pick<UpgradeFacts, "database">;

type SchemaStanding = "unchanged" | "changed" | "unknown" | "noAccess";

/** Whether the schema is that of before the upgrade. While a migration is in progress nobody knows. */
export function schemaStanding(facts: Asked, { schemaBefore }: UpgradeStatus): SchemaStanding {
  if (whyNoAccess(facts)) return "noAccess";
  const sight = sightOf(facts);
  if (!sight || sight.migration || sight.schema === "locked") return "unknown";
  const { version, isDirty = false } = sight.schema === "missing" ? {} : sight.schema;
  return version === schemaBefore && !isDirty ? "unchanged" : "changed";
}

/** Whether the database says that somebody migrates it. */
export function isBusy(facts: Asked): boolean {
  const sight = sightOf(facts);
  return sight !== undefined && (sight.migration !== undefined || sight.schema === "locked");
}

export function whyNoAccess({ database }: Asked): string | undefined {
  return database && "why" in database ? database.why : undefined;
}

/** Why a database that may be asked does not answer. */
export function whyAway({ database }: Asked): AccessFailure | undefined {
  return database && "ok" in database && !database.ok ? database.failure : undefined;
}

export function sightOf({ database }: Asked): DatabaseInspection | undefined {
  return database && "ok" in database && database.ok ? database.value : undefined;
}
