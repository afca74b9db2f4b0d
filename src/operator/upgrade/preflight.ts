import type { DatabaseInspection } from "../../coder/operator-access/inspect.ts";
import { accessReason } from "../coderd/access-failure.ts";
import { databaseFailure, hostsOf, inspectionOf, type UpgradeFacts } from "./facts.ts";
import { foreignReplicas } from "./messages.ts";
import { compareVersions, knownVersion, versionOfImage } from "./versions.ts";

/** Why an upgrade must not start: reason and message of a condition. */
export interface Obstacle {
  readonly reason: string;
  readonly message: string;
}

/** Number of connections that coderd opens at startup. */
const MIN_CONNECTIONS = 5;

type Checked = Pick<UpgradeFacts, "version" | "database" | "neighbors" | "backup" | "settings" | "pods"> & {
  readonly from: string;
  readonly to: string;
  /** Version that the new image printed. Absent before the image check. */
  readonly imageVersion?: string | undefined;
};

type Check = (facts: Checked) => Obstacle | undefined;

/** Returns the obstacles of an upgrade, in the order of the checks. */
export function obstacles(facts: Checked): Obstacle[] {
  return checks.flatMap((check) => check(facts) ?? []);
}

const downgrade: Check = ({ from, to, version, imageVersion }) => {
  const target = imageVersion ?? versionOfImage(to);
  // coderd may have reported its version for an earlier image.
  const current = knownVersion(from, version);
  if ((compareVersions(target, current) ?? 0) >= 0) return undefined;
  const message = `Version ${target} is older than the running version ${current}, and coderd does not support downgrades of the database schema; set spec.image to ${current} or later. To downgrade anyway, restore a backup of the database and set spec.upgrade.strategy to Rolling.`;
  return { reason: "DowngradeRefused", message };
};

const database: Check = (facts) => {
  const failure = databaseFailure(facts);
  return failure && { reason: accessReason(failure), message: failure.message };
};

/** A check of the database inspection. Returns the message of the obstacle, if any. */
function checkInspection(
  reason: string,
  check: (inspection: DatabaseInspection, facts: Checked) => string | false | undefined,
): Check {
  return (facts) => {
    const inspection = inspectionOf(facts);
    const message = inspection && check(inspection, facts);
    return message ? { reason, message } : undefined;
  };
}

const readOnly = checkInspection(
  "DatabaseReadOnly",
  ({ isReadOnly }) =>
    isReadOnly && "The database is read-only or a standby; point the connection URL at the primary.",
);

const privileges = checkInspection(
  "DatabasePermissionDenied",
  ({ mayMigrate }) =>
    !mayMigrate &&
    "The database user is not permitted to change the schema; grant CREATE on the schema and ownership of coderd's tables.",
);

const connections = checkInspection(
  "NoFreeConnections",
  ({ freeConnections }) =>
    freeConnections < MIN_CONNECTIONS &&
    `The database has ${Math.max(freeConnections, 0)} free connections, but coderd requires ${MIN_CONNECTIONS} to start; increase max_connections or close connections.`,
);

const unfinished = checkInspection(
  "MigrationRunning",
  ({ migration, schema }) =>
    (migration || schema === "locked") &&
    "A migration of the database is in progress; wait until it completes.",
);

const dirty = checkInspection("SchemaDirty", ({ migration, schema }) => {
  if (migration || typeof schema !== "object" || !schema.isDirty) return undefined;
  return `Migration ${schema.version} of the database failed earlier (schema_migrations.dirty); repair the schema first.`;
});

const shared: Check = ({ neighbors }) => {
  if (neighbors.length === 0) return undefined;
  const names = neighbors.map((name) => `"${name}"`).join(", ");
  const message = `CoderControlPlane ${names} uses the same database, and its pods would run the old version on the new schema; use a separate database for each control plane, or delete one.`;
  return { reason: "DatabaseShared", message };
};

const sharedDatabase = checkInspection("DatabaseShared", ({ replicas }, { pods }) => {
  const hosts = hostsOf(pods);
  // If ready pods have custom host names, only the number of replicas can be compared.
  const areNamed = pods.ready === 0 || replicas.some((name) => hosts.includes(name));
  const isMore = replicas.length > pods.ready;
  return areNamed || isMore ? foreignReplicas(replicas, hosts) : undefined;
});

const backupSource: Check = ({ backup, settings }) => {
  if (!settings.backup || backup?.kind !== "unavailable") return undefined;
  return { reason: "BackupUnavailable", message: backup.message };
};

const checks: readonly Check[] = [
  downgrade,
  database,
  readOnly,
  privileges,
  connections,
  unfinished,
  dirty,
  shared,
  sharedDatabase,
  backupSource,
];
