import { setTimeout as delay } from "node:timers/promises";
import { type Fence, fnv1a64 } from "kube-controller-runtime";
import pg from "pg";
import { DatabaseConnection } from "./connection.ts";
import type { ConnectionSettings } from "./connection-url.ts";
import type { Encryption } from "./tls.ts";

/** Every value as the text that the server sent: `t` and `f`, numbers in digits. */
export type Row = Readonly<Record<string, string | null>>;

/** One database connection, used for one transaction. */
export interface DatabaseSession {
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Never fails and never waits long: the connection is gone afterwards. */
  close(): Promise<void>;
}

/** Opens a session of which every statement passes the fence. Once that is closed, the connection is cut. */
export type Connect = (
  settings: ConnectionSettings,
  encryption: Encryption,
  fence: Fence,
) => Promise<DatabaseSession>;

const STATEMENT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 10_000;
const GOODBYE_MS = 1_000;

/** Connects with `pg`. Everything is given explicitly: libpq's environment variables must have no say. */
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
    // The connection encrypts by itself.
    ssl: false,
    ...(settings.options ? { options: settings.options } : {}),
    application_name: "coder-k8s",
    connectionTimeoutMillis: settings.connectTimeoutMs,
    query_timeout: ANSWER_TIMEOUT_MS,
    stream: () => connection,
    // The driver's own parsers are chosen by the server, and some take very long over a text that is made for it.
    types: { getTypeParser: () => String },
  });
  client.on("error", () => {
    // The statement under way fails with the same error; an idle connection that breaks harms nobody.
  });
  const close = async () => {
    if (connection.destroyed) return;
    await Promise.race([client.end().catch(() => undefined), delay(GOODBYE_MS, undefined, { ref: false })]);
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

/** Waits for its turn under a name; the transaction's end gives it to the next. */
export async function lock(session: DatabaseSession, name: string): Promise<void> {
  const key = BigInt.asIntN(64, BigInt(`0x${fnv1a64(name)}`)).toString();
  await session.query("SELECT pg_advisory_xact_lock($1)", [key]);
}

/**
 * Runs `work` in one transaction: all of it takes effect, or none, since closing a session ends what it has
 * not committed. Limits hold for this transaction only, so that a connection pooler in between stays out of it.
 */
export async function inTransaction<T>(session: DatabaseSession, work: () => Promise<T>): Promise<T> {
  await session.query("BEGIN");
  await session.query(
    `SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true),
            set_config('idle_in_transaction_session_timeout', $2, true)`,
    [String(STATEMENT_TIMEOUT_MS), String(ANSWER_TIMEOUT_MS)],
  );
  const result = await work();
  await session.query("COMMIT");
  return result;
}
