import { randomBytes } from "node:crypto";
import { systemClock } from "kube-controller-runtime";
import { eventually, unfenced } from "kube-controller-runtime/testing";
import pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../lab/postgres.ts";
import { operatorAccess } from "../../src/coder/operator-access/access.ts";
import { tokenName } from "../../src/coder/operator-access/token.ts";
import { converge, StoredToken, targetOf } from "../support/operator-access.ts";
import { sharedPostgres } from "../support/shared-postgres.ts";

/** What coderd locks for its migrations. */
const LOCK = "1037453835920848937";

const postgres = sharedPostgres();
const access = operatorAccess({ clock: systemClock, fence: unfenced });
let database: Database;
const sessions: pg.Client[] = [];

afterAll(() => postgres.stop());
afterEach(() => Promise.all(sessions.splice(0).map((session) => session.end())));

async function connect(application_name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, application_name });
  await client.connect();
  sessions.push(client);
  return client;
}

async function look(tokenNames: readonly string[] = []) {
  const seen = await access.inspect(targetOf(database), tokenNames);
  if (!seen.ok) return expect.fail(seen.failure.message);
  return seen.value;
}

/** A role that owns nothing and may see no more than any other, and the look of its user. */
async function unprivileged() {
  const role = `nobody_${database.name}`;
  const password = randomBytes(12).toString("hex");
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  const url = new URL(database.url);
  url.username = role;
  url.password = password;
  const lookAs = async () => {
    const seen = await access.inspect(targetOf({ ...database, url: url.href }));
    return seen.ok ? seen.value : expect.fail(seen.failure.message);
  };
  return { role, lookAs };
}

test("a database that coderd has not migrated yet has no schema", async () => {
  database = await postgres.createDatabase("empty");
  expect(await look()).toMatchObject({ schema: "missing", migration: undefined, replicas: [] });
});

describe("a look at coderd's database", () => {
  beforeEach(async () => {
    database = await postgres.createDatabase("migrated");
    await database.query(
      "CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty boolean NOT NULL)",
    );
    await database.query("INSERT INTO schema_migrations VALUES (362, false)");
  });

  test("shows the schema, and whether it could be changed", async () => {
    const { freeConnections, ...inspection } = await look();
    expect(inspection).toMatchObject({
      isReadOnly: false,
      mayMigrate: true,
      schema: { version: 362, isDirty: false },
      migration: undefined,
    });
    expect(freeConnections).toBeGreaterThan(0);
  });

  test("does not wait for a migration, and names it and the sessions that block it", async () => {
    const blocker = await connect("another-app");
    await blocker.query("BEGIN");
    await blocker.query("LOCK TABLE users IN ACCESS SHARE MODE");
    const migration = await connect("coder-new");
    await migration.query("BEGIN");
    await migration.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
    await migration.query("TRUNCATE schema_migrations");
    const blocked = migration.query("ALTER TABLE users ADD COLUMN more text");
    await eventually(
      async () =>
        expect(await look()).toMatchObject({
          schema: "locked",
          migration: { application: "coder-new", blockers: [{ application: "another-app" }] },
        }),
      { withinMs: 20_000 },
    );
    await blocker.query("COMMIT");
    await blocked;
    await migration.query("INSERT INTO schema_migrations VALUES (556, false)");
    await migration.query("COMMIT");
    expect(await look()).toMatchObject({ schema: { version: 556 }, migration: undefined });
  });

  describe("counts the sessions of others as taken", () => {
    /** How many connections fewer are free while a session at `url` is open. */
    async function taken(url: string, free: () => Promise<number>): Promise<number> {
      const before = await free();
      const session = new pg.Client({ connectionString: url });
      await session.connect();
      const after = await free();
      await session.end();
      return before - after;
    }

    // Other tests come and go at the same server.
    const patience = { withinMs: 20_000 };

    test("and not those of coderd's own user", async () => {
      const free = async () => (await look()).freeConnections;
      const { url: elsewhere } = await postgres.createDatabase("empty");
      await eventually(
        async () => expect([await taken(database.url, free), await taken(elsewhere, free)]).toEqual([0, 1]),
        patience,
      );
    });

    test("as a user who may not see what they do", async () => {
      const { role, lookAs } = await unprivileged();
      await database.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
      const free = async () => (await lookAs()).freeConnections;
      await eventually(async () => expect(await taken(database.url, free)).toBe(1), patience);
    });
  });

  test("requires ownership of coderd's tables, and of no others", async () => {
    const { role, lookAs } = await unprivileged();
    await database.query(`GRANT CREATE ON SCHEMA public TO ${role}`);
    const tables = await database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    for (const { tablename } of tables) await database.query(`ALTER TABLE ${tablename} OWNER TO ${role}`);
    await database.query("CREATE TABLE audit_of_somebody (id int)");
    const mayMigrate = async () => (await lookAs()).mayMigrate;
    expect(await mayMigrate()).toBe(true);
    await database.query("ALTER TABLE users OWNER TO postgres");
    expect(await mayMigrate()).toBe(false);
  });

  test("shows a database that refuses writes", async () => {
    await database.query(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
    expect(await look()).toMatchObject({ isReadOnly: true });
  });

  test("finds the tokens of other control planes, and the replicas that were seen a moment ago", async () => {
    const other = { namespace: "other", name: "coder", uid: "2" };
    await converge(access, targetOf(database, { controlPlane: other }), new StoredToken());
    await database.query(
      `CREATE TABLE replicas (hostname text, stopped_at timestamptz, updated_at timestamptz, "primary" boolean)`,
    );
    await database.query(`INSERT INTO replicas VALUES ('coder-1', NULL, now(), true), ('proxy-1', NULL, now(), false),
      ('coder-0', NULL, now() - interval '1 hour', true), ('coder-2', now(), now(), true)`);
    const names = [tokenName(other), tokenName({ namespace: "third", name: "coder" })];
    expect(await look(names)).toMatchObject({ tokenNames: [tokenName(other)], replicas: ["coder-1"] });
  });

  test("changes nothing", async () => {
    const before = await rowsOf(database);
    expect(before.find(({ name }) => name === "schema_migrations")?.rows).toContain("(362,f)");
    await look();
    expect(await rowsOf(database)).toEqual(before);
  });
});

/** All rows of all tables, each with the transaction that wrote it. The statistics that Postgres keeps come late. */
async function rowsOf({ query }: Database): Promise<Record<string, unknown>[]> {
  const tables = await query(
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
  );
  const contents = tables.map(({ tablename }) => {
    const table = pg.escapeIdentifier(String(tablename));
    const rows = "string_agg(t.xmin || ' ' || t::text, ' ' ORDER BY t::text)";
    return `SELECT '${tablename}' AS name, coalesce(${rows}, '') AS rows FROM ${table} t`;
  });
  return query(contents.join(" UNION ALL "));
}
