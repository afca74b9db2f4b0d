import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Database, Postgres } from "../../../lab/postgres.ts";

const EVERY_MS = 50;

/** What was seen of a database while somebody watched. */
interface Seen {
  /** The versions of the schema, in order. */
  readonly schemas: readonly number[];
  /** Those who were connected while the schema had this version. */
  applicationsOn(version: number): string[];
}

/** Watches, as the superuser, who is connected to a database and which schema it has. */
export class DatabaseWatch implements AsyncDisposable {
  readonly #url: string;
  readonly #name: string;
  readonly #clients: pg.Client[] = [];
  readonly #samples: { readonly version: number; readonly applications: readonly string[] }[] = [];
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;

  constructor({ port, password }: Pick<Postgres, "port" | "password">, { name }: Pick<Database, "name">) {
    this.#name = name;
    this.#url = `postgres://postgres:${password}@127.0.0.1:${port}/${name}`;
    this.#loop = this.#watch();
  }

  /** Holds a lock on a table as somebody of that name until it is released. */
  async lockTable(table: string, application: string): Promise<{ release(): Promise<void> }> {
    const client = await this.#connect(application);
    await client.query("BEGIN");
    await client.query(`LOCK TABLE ${table} IN ACCESS SHARE MODE`);
    return { release: async () => void (await client.query("COMMIT")) };
  }

  async stop(): Promise<Seen> {
    this.#stop.abort();
    await this.#loop;
    const samples = this.#samples;
    return {
      schemas: [...new Set(samples.map(({ version }) => version))],
      applicationsOn: (wanted) => [
        ...new Set(samples.filter(({ version }) => version === wanted).flatMap((each) => each.applications)),
      ],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await Promise.all(this.#clients.map((client) => client.end()));
  }

  async #connect(application_name: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#url, application_name });
    client.on("error", () => {});
    await client.connect();
    this.#clients.push(client);
    return client;
  }

  async #watch(): Promise<void> {
    const client = await this.#connect("watch");
    await client.query("SET lock_timeout = '20ms'");
    while (!this.#stop.signal.aborted) {
      await this.#sample(client).catch(() => undefined);
      await sleep(EVERY_MS);
    }
  }

  /** The schema first: whoever is connected afterwards is connected to at least that one. */
  async #sample(client: pg.Client): Promise<void> {
    const { rows } = await client.query("SELECT version FROM schema_migrations");
    const activity = await client.query(
      "SELECT application_name FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()",
      [this.#name],
    );
    const applications = activity.rows.map(({ application_name: name }) => String(name));
    this.#samples.push({ version: Number(rows[0]?.version), applications });
  }
}

/** Makes a database from another as the superuser, in place of what it was. Whoever is connected to either is cut off. */
export async function copyDatabase(
  { port, password }: Pick<Postgres, "port" | "password">,
  names: { readonly from: string; readonly to: string; readonly owner: string },
): Promise<void> {
  const client = new pg.Client({
    connectionString: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
  });
  await client.connect();
  const [from, to, owner] = [names.from, names.to, names.owner].map((name) => pg.escapeIdentifier(name));
  try {
    await client.query(`DROP DATABASE IF EXISTS ${to} WITH (FORCE)`);
    await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [
      names.from,
    ]);
    await client.query(`CREATE DATABASE ${to} TEMPLATE ${from} OWNER ${owner}`);
  } finally {
    await client.end();
  }
}

/** Asks a coderd again and again whether it serves, and sums up for how long it did not. */
export class ServiceWatch implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #loop: Promise<number>;

  constructor(url: string) {
    this.#loop = this.#watch(`${url}/api/v2/buildinfo`);
  }

  /** The milliseconds without service. */
  async stop(): Promise<number> {
    this.#stop.abort();
    return this.#loop;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #watch(url: string): Promise<number> {
    let downMs = 0;
    let before = performance.now();
    while (!this.#stop.signal.aborted) {
      const serves = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
        ({ ok }) => ok,
        () => false,
      );
      const now = performance.now();
      if (!serves) downMs += now - before;
      before = now;
      await sleep(EVERY_MS);
    }
    return Math.round(downMs);
  }
}
