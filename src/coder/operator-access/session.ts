import { setTimeout as delay } from "node:timers/promises";
import { type Fence, fnv1a64 } from "kube-controller-runtime";
import pg from "pg";
import { DatabaseConnection } from "./connection.ts";
import type { ConnectionSettings } from "./connection-url.ts";
import type { Encryption } from "./tls.ts";

/** Values as text from the server: `t` and `f`, and numbers as digits. */
export type Row = Readonly<Record<string, string | null>>;

/** A database connection for one transaction. */
export interface DatabaseSession {
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Never fails and never waits long. The connection is closed afterwards. */
  close(): Promise<void>;
}

/**
 * Opens a session. Every statement is checked by the fence. When the fence closes, the connection is closed.
 */
export type Connect = (
  settings: ConnectionSettings,
  encryption: Encryption,
  fence: Fence,
) => Promise<DatabaseSession>;

const STATEMENT_TIMEOUT_MS = 5_000;
const RESPONSE_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Connects with `pg`. All settings are explicit, because libpq's environment variables must have no effect.
 */
export const connectPostgres: Connect = async (settings, encryption, fence) => {
  fence.assertLeading();
  const connection = new DatabaseConnection({ encryption, directTls: settings.directTls, fence });
  const client = new pg.Client({
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: () => {
      fence.assertLeading();
      return settings.password;
    },
    database: settings.database,
    // DatabaseConnection handles TLS.
    ssl: false,
    ...(settings.options ? { options: settings.options } : {}),
    application_name: "coder-k8s",
    connectionTimeoutMillis: settings.connectTimeoutMs,
    query_timeout: RESPONSE_TIMEOUT_MS,
    stream: () => connection,
    // The server chooses the driver's parsers, and some are very slow for crafted values.
    types: { getTypeParser: () => String },
  });
  client.on("error", () => {
    // The running statement fails with the same error. A broken idle connection does no harm.
  });
  const close = async () => {
    if (connection.destroyed) return;
    await Promise.race([
      client.end().catch(() => undefined),
      delay(CLOSE_TIMEOUT_MS, undefined, { ref: false }),
    ]);
    connection.destroy();
  };
  try {
    await client.connect();
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return {
    query: async (sql, values = []) => {
      fence.assertLeading();
      return (await client.query(sql, [...values])).rows;
    },
    close,
  };
};

/** Waits for a named lock, which the end of the transaction releases. */
export async function lock(session: DatabaseSession, name: string): Promise<void> {
  const key = BigInt.asIntN(64, BigInt(`0x${fnv1a64(name)}`)).toString();
  await session.query("SELECT pg_advisory_xact_lock($1)", [key]);
}

/**
 * Runs `work` in one transaction. Closing a session rolls back uncommitted changes. The limits apply only to
 * this transaction, so that they do not affect a connection pooler.
 */
export async function inTransaction<T>(session: DatabaseSession, work: () => Promise<T>): Promise<T> {
  await session.query("BEGIN");
  await session.query(
    `SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true),
            set_config('idle_in_transaction_session_timeout', $2, true)`,
    [String(STATEMENT_TIMEOUT_MS), String(RESPONSE_TIMEOUT_MS)],
  );
  const result = await work();
  await session.query("COMMIT");
  return result;
}
