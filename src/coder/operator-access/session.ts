import { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Fence, fnv1a64 } from "kube-controller-runtime";
import pg from "pg";
import type { ConnectionSettings } from "./connection-url.ts";
import type { DatabaseProblem } from "./failure.ts";
import type { Encryption } from "./tls.ts";
import { guardMessages, tooLong } from "./wire.ts";

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

type WriteCallback = (error?: Error | null) => void;

/**
 * More than any answer that is asked for. The driver keeps a message until it is complete, however long the server
 * says that it will be.
 */
const MAX_BYTES = 4 * 1024 * 1024;
const COUNT_EVERY_MS = 20;

/** Connects with `pg`. Everything is given explicitly: libpq's environment variables must have no say. */
export const connectPostgres: Connect = async (settings, encryption, fence) => {
  fence.assertLeading();
  const socket = new FencedSocket(fence);
  limitBytes(socket);
  const client = new pg.Client({
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: () => {
      fence.assertLeading();
      return settings.password;
    },
    database: settings.database,
    ssl: encryption,
    ...(encryption && settings.directTls ? { sslnegotiation: "direct" } : {}),
    ...(settings.options ? { options: settings.options } : {}),
    application_name: "coder-k8s",
    connectionTimeoutMillis: settings.connectTimeoutMs,
    query_timeout: ANSWER_TIMEOUT_MS,
    stream: () => socket,
    // The driver's own parsers are chosen by the server, and some take very long over a text that is made for it.
    types: { getTypeParser: () => String },
  });
  guardMessages(client.connection, MAX_BYTES);
  client.on("error", () => {
    // The statement under way fails with the same error; an idle connection that breaks harms nobody.
  });
  const close = async () => {
    if (socket.destroyed) return;
    await Promise.race([client.end().catch(() => undefined), delay(GOODBYE_MS, undefined, { ref: false })]);
    socket.destroy();
  };
  try {
    await client.connect();
  } catch (error) {
    const cause = tooMuch(socket) ?? error;
    socket.destroy();
    throw cause;
  }
  return {
    query: async (sql, values = []) => {
      fence.assertLeading();
      try {
        return (await client.query(sql, [...values])).rows;
      } catch (error) {
        throw tooMuch(socket) ?? error;
      }
    },
    close,
  };
};

/**
 * A socket that is cut as soon as the fence is closed, and that sends nothing past it, a greeting included. Under TLS
 * a handshake that has begun may end, which changes nothing.
 */
class FencedSocket extends Socket {
  readonly #fence: Fence;

  constructor(fence: Fence) {
    super();
    this.#fence = fence;
    const cut = () => this.destroy();
    fence.signal.addEventListener("abort", cut);
    this.once("close", () => fence.signal.removeEventListener("abort", cut));
  }

  override _write(chunk: unknown, encoding: BufferEncoding, callback: WriteCallback): void {
    this.#pass(callback, () => super._write(chunk, encoding, callback));
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], callback: WriteCallback): void {
    this.#pass(callback, () => super._writev?.(chunks, callback));
  }

  #pass(callback: WriteCallback, write: () => void): void {
    try {
      this.#fence.assertLeading();
    } catch (error) {
      callback(error as Error);
      return;
    }
    write();
  }
}

/** Cuts the connection when more has come than may. Counted below TLS, where the driver sees no data of its own. */
function limitBytes(socket: Socket): void {
  const counting = setInterval(() => {
    if (socket.bytesRead > MAX_BYTES) socket.destroy();
  }, COUNT_EVERY_MS);
  socket.once("close", () => clearInterval(counting));
}

function tooMuch({ bytesRead }: Socket): DatabaseProblem | undefined {
  return bytesRead > MAX_BYTES ? tooLong(MAX_BYTES) : undefined;
}

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
