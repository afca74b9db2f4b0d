import { codeOf } from "../error-code.ts";
import type { DatabaseSession, Row } from "./session.ts";
import { count, isTrue, texts } from "./values.ts";

type SessionInfo = Readonly<ReturnType<typeof sessionOf>>;

/** Facts about coderd's database that an upgrade needs. */
export interface DatabaseInspection {
  /** A standby or a read-only database. */
  readonly isReadOnly: boolean;
  /** Whether the user of the connection URL can change the schema and owns coderd's tables. */
  readonly mayMigrate: boolean;
  /** Number of connections available to this user. */
  readonly freeConnections: number;
  /** Version of the schema: `locked` during a migration, `missing` before the first one. */
  readonly schema: { readonly version: number; readonly isDirty: boolean } | "locked" | "missing";
  /** The migrating session, and the sessions that block it. */
  readonly migration: (SessionInfo & { readonly blockers: readonly SessionInfo[] }) | undefined;
  /** The given tokens that exist in the database. */
  readonly tokenNames: readonly string[];
  /** Host names of coderd replicas that were active within the last minute. */
  readonly replicas: readonly string[];
}

/** The advisory lock of coderd's migrations, 1037453835920848937, split in halves as in pg_locks. */
const MIGRATION_LOCK = { classid: 241551044, objid: 1626191913 };

/** A migration holds its locks until it commits, so a longer wait has no benefit. */
const LOCK_TIMEOUT_MS = "500";
const LOCK_NOT_AVAILABLE = "55P03";

/** Tables that exist in every version of coderd. Others in the schema may have a different owner. */
const CORE_TABLES = ["schema_migrations", "users", "api_keys", "organizations", "templates", "workspaces"]
  .map((name) => `'${name}'`)
  .join(", ");

/**
 * Excludes sessions of the same user in the same database: they belong to the old pods, which end before a
 * new pod starts.
 */
const GENERAL = `
  SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS read_only,
         coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AND NOT EXISTS (
           SELECT FROM pg_class c
           WHERE c.relnamespace = to_regnamespace(current_schema()::text) AND c.relkind IN ('r', 'p')
             AND c.relname IN (${CORE_TABLES}) AND NOT pg_has_role(c.relowner, 'USAGE')) AS may_migrate,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - (SELECT count(*) FROM pg_stat_activity WHERE usename IS NOT NULL AND datname IS NOT NULL
                AND (usename, datname) IS DISTINCT FROM (current_user, current_database())) AS free_connections,
         to_regclass('schema_migrations') IS NOT NULL AS has_schema,
         to_regclass('replicas') IS NOT NULL AS has_replicas,
         to_regclass('api_keys') IS NOT NULL AS has_keys`;

const SESSION = `a.pid, left(a.application_name, 64) AS application, a.usename AS username,
         coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0) AS seconds`;

const MIGRATION = `
  SELECT ${SESSION}, array_to_json(array(SELECT pid::text FROM unnest(pg_blocking_pids(a.pid)) AS pid)) AS blockers
  FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1 AND l.objid = $2
    AND a.datname = current_database()
  LIMIT 1`;

const SESSIONS = `SELECT ${SESSION} FROM pg_stat_activity a WHERE a.pid = ANY ($1::int[]) ORDER BY a.pid LIMIT 5`;

const REPLICAS = `
  SELECT DISTINCT left(hostname, 253) AS hostname FROM replicas
  WHERE stopped_at IS NULL AND updated_at > now() - interval '1 minute' AND "primary"
  ORDER BY hostname LIMIT 100`;

const TOKENS = `SELECT DISTINCT token_name FROM api_keys WHERE token_name = ANY ($1::text[]) LIMIT 5`;

/** Inspects the database without changing anything and without waiting for a migration. */
export async function inspectDatabase(
  session: DatabaseSession,
  tokenNames: readonly string[],
): Promise<DatabaseInspection> {
  await session.query(
    "SELECT set_config('transaction_read_only', 'on', true), set_config('lock_timeout', $1, true)",
    [LOCK_TIMEOUT_MS],
  );
  const [general = {}] = await session.query(GENERAL);
  const migration = await readMigration(session);
  const isCalm = migration === undefined;
  const known = isCalm && tokenNames.length > 0 && isTrue(general.has_keys);
  return {
    isReadOnly: isTrue(general.read_only),
    mayMigrate: isTrue(general.may_migrate),
    freeConnections: count(general.free_connections),
    migration,
    tokenNames: known ? column(await session.query(TOKENS, [tokenNames]), "token_name") : [],
    replicas: isCalm && isTrue(general.has_replicas) ? column(await session.query(REPLICAS), "hostname") : [],
    // Last, because a lock timeout aborts the transaction.
    schema: isTrue(general.has_schema) ? await readSchema(session) : "missing",
  };
}

async function readMigration(session: DatabaseSession): Promise<DatabaseInspection["migration"]> {
  const [row] = await session.query(MIGRATION, [MIGRATION_LOCK.classid, MIGRATION_LOCK.objid]);
  if (!row) return undefined;
  const pids = texts(row.blockers);
  const blockers = pids.length > 0 ? (await session.query(SESSIONS, [pids])).map(sessionOf) : [];
  return { ...sessionOf(row), blockers };
}

async function readSchema(session: DatabaseSession): Promise<DatabaseInspection["schema"]> {
  try {
    const [row] = await session.query("SELECT version, dirty FROM schema_migrations LIMIT 1");
    return row ? { version: count(row.version), isDirty: isTrue(row.dirty) } : "missing";
  } catch (error) {
    if (codeOf(error) === LOCK_NOT_AVAILABLE) return "locked";
    throw error;
  }
}

/** The parts of a database session that are safe to show, without its query. */
function sessionOf(row: Row) {
  return {
    pid: count(row.pid),
    /** Application name of the session, or an empty string. */
    application: row.application ?? "",
    user: row.username ?? "",
    /** Age of its transaction. */
    seconds: Math.round(Number(row.seconds ?? 0)),
  };
}

function column(rows: readonly Row[], name: string): string[] {
  return rows.map((row) => row[name] ?? "");
}
