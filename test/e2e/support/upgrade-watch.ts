import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Postgres } from "../../../lab/postgres.ts";

const EVERY_MS = 50;
/** The error of Postgres if a lock is not granted in time. */
const LOCK_NOT_AVAILABLE = "55P03";

/** The observations of a database during a watch. */
interface Seen {
  /** The versions of the schema, in order. */
  readonly schemas: readonly number[];
  /** Those who were connected while the schema had this version. */
  applicationsOn(version: number): string[];
  /** From the moment that a migration locked the version of the schema until there was another one. */
  readonly migrationMs: number;
  /** When one of them was connected for the last time, as this machine has it. */
  lastConnected(applications: readonly string[]): number;
}

interface Sample {
  readonly at: number;
  /** Since when a lock kept the watch from this sample. */
  readonly lockedSince: number | undefined;
  readonly version: number;
  readonly applications: readonly string[];
}

/** Watches, as the superuser, who is connected to a database and which schema it has. */
export class DatabaseWatch implements AsyncDisposable {
  readonly #url: string;
  readonly #clients: pg.Client[] = [];
  readonly #samples: Sample[] = [];
  #lockedAt: number | undefined;
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;

  /** `url` is the superuser's, of the database to watch. */
  constructor(url: string) {
    this.#url = url;
    this.#loop = this.#watch();
  }

  /** Holds a lock on a table under an application name until it is released. */
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
    const first = samples[0]?.version;
    const migrated = samples.find(({ version }) => version !== first);
    return {
      lastConnected: (wanted) =>
        samples.findLast(({ applications }) => applications.some((each) => wanted.includes(each)))?.at ?? 0,
      migrationMs: Math.round((migrated?.at ?? 0) - (migrated?.lockedSince ?? migrated?.at ?? 0)),
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
      await this.#sample(client).catch((error: Error & { code?: string }) => {
        if (error.code === LOCK_NOT_AVAILABLE) this.#lockedAt ??= Date.now();
      });
      await sleep(EVERY_MS);
    }
  }

  /** The schema first: later connections use at least that one. */
  async #sample(client: pg.Client): Promise<void> {
    const { rows } = await client.query("SELECT version FROM schema_migrations");
    const activity = await client.query(
      "SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    const applications = activity.rows.map(({ application_name: name }) => String(name));
    const version = Number(rows[0]?.version);
    this.#samples.push({ at: Date.now(), lockedSince: this.#lockedAt, version, applications });
    this.#lockedAt = undefined;
  }
}

/** Replaces a database by a copy of another, as the superuser. All connections to both are closed. */
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
