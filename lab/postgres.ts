import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Certificate } from "kube-controller-runtime/testing";
import pg from "pg";

/**
 * The content of a database: empty, as before coderd's first start, or the tables of coderd that the operator
 * uses.
 */
export type Schema = "empty" | "migrated";

export interface Database {
  /** `postgres://…` with the password, without `sslmode`. */
  readonly url: string;
  readonly name: string;
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

/** Operations for tests on any Postgres, their own or a shared one. */
export interface Databases {
  /** Creates a database as a copy of a template, in milliseconds. */
  createDatabase(schema: Schema): Promise<Database>;
  /** Releases its resources. */
  stop(): Promise<void>;
}

/** A real Postgres on a free loopback port. */
export interface Postgres extends Databases {
  readonly port: number;
  readonly password: string;
  /** Creates a copy of a database, to which no client may be connected. */
  copyDatabase(name: string): Promise<Database>;
  /** Disconnects all clients and drops the database. */
  dropDatabase(name: string): Promise<void>;
  /** Enables TLS in addition to plain connections. */
  enableTls(certificate: Certificate): Promise<void>;
  /** Replaces the rules for client authentication: the lines of `pg_hba.conf`. */
  setHostRules(lines: readonly string[]): Promise<void>;
  /** Stops or starts the server, with the same data on the same port; connections break. */
  turn(state: "down" | "up"): Promise<void>;
}

export interface OpenDatabase extends Database {
  close(): Promise<void>;
}

const TABLES = new URL("coderd-database/schema.sql", import.meta.url);
const SUPERVISOR = new URL("postgres-supervisor.ts", import.meta.url);

/** Starts a Postgres that ends with this process under all circumstances. */
export async function startPostgres(): Promise<Postgres> {
  const password = randomBytes(12).toString("hex");
  const directory = await mkdtemp(join(tmpdir(), "coder-k8s-postgres-"));
  await chmod(directory, 0o755);
  const supervisor = spawn(process.execPath, [SUPERVISOR.pathname, directory, password], {
    stdio: ["pipe", "pipe", "inherit"],
    // In its own process group: Ctrl-C in a terminal must not end the server before its supervisor does.
    detached: true,
  });
  const answers = linesOf(supervisor);
  const { port } = await answers.next();
  const admin = new pg.Pool({ connectionString: urlOf(port, password, "postgres"), max: 4 });
  admin.on("error", () => {});
  const templates = new Map<Schema, Promise<string>>();
  const databases: OpenDatabase[] = [];
  let count = 0;

  async function createDatabase(schema: Schema): Promise<Database> {
    const template = templates.get(schema) ?? makeTemplate(schema);
    templates.set(schema, template);
    return copyDatabase(await template);
  }

  async function copyDatabase(template: string): Promise<Database> {
    const name = `coder_${++count}`;
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${pg.escapeIdentifier(template)}`);
    const database = openDatabase({ url: urlOf(port, password, name), name });
    databases.push(database);
    return database;
  }

  async function dropDatabase(name: string): Promise<void> {
    await admin.query(`DROP DATABASE ${pg.escapeIdentifier(name)} WITH (FORCE)`);
  }

  async function makeTemplate(schema: Schema): Promise<string> {
    const name = `template_${schema}`;
    await admin.query(`CREATE DATABASE ${name}`);
    if (schema === "empty") return name;
    const client = new pg.Client({ connectionString: urlOf(port, password, name) });
    await client.connect();
    await client.query(await readFile(TABLES, "utf8"));
    await client.end();
    return name;
  }

  /** The server writes its files itself, so that its own account owns them. */
  async function writeServerFile(name: string, content: string): Promise<void> {
    const lines = `string_to_array(${pg.escapeLiteral(content)}, E'\\n')`;
    await admin.query(`COPY (SELECT unnest(${lines})) TO PROGRAM 'umask 077; cat > ${name}'`);
  }

  async function enableTls({ cert, key }: Certificate): Promise<void> {
    await writeServerFile("server.crt", cert);
    await writeServerFile("server.key", key);
    await admin.query("ALTER SYSTEM SET ssl = on");
    await admin.query("SELECT pg_reload_conf()");
  }

  async function setHostRules(lines: readonly string[]): Promise<void> {
    await writeServerFile("pg_hba.conf", lines.join("\n"));
    await admin.query("SELECT pg_reload_conf()");
  }

  async function turn(state: "down" | "up"): Promise<void> {
    supervisor.stdin?.write(`${state}\n`);
    await answers.next();
  }

  async function stop(): Promise<void> {
    await Promise.all([...databases.map((database) => database.close()), admin.end()]);
    const exited = new Promise((resolve) => supervisor.once("exit", resolve));
    supervisor.stdin?.end();
    await exited;
  }

  return { port, password, createDatabase, copyDatabase, dropDatabase, enableTls, setHostRules, turn, stop };
}

/** Connections to a database, opened and closed on demand. */
export function openDatabase({ url, name }: Pick<Database, "url" | "name">): OpenDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 4, idleTimeoutMillis: 500 });
  pool.on("error", () => {});
  return {
    url,
    name,
    query: async (sql, values = []) => (await pool.query(sql, [...values])).rows,
    close: () => pool.end(),
  };
}

/** The output of the supervisor, line by line. */
function linesOf(supervisor: ChildProcess): { next(): Promise<{ port: number }> } {
  if (!supervisor.stdout) throw new Error("the supervisor has no output");
  const lines = createInterface({ input: supervisor.stdout })[Symbol.asyncIterator]();
  return {
    async next() {
      const { value, done } = await lines.next();
      if (done) throw new Error("Postgres did not start");
      return JSON.parse(value);
    },
  };
}

function urlOf(port: number, password: string, database: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
}
