import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, type Postgres, startPostgres } from "../../lab/postgres.ts";
import { operatorAccess } from "../../src/coder/operator-access/access.ts";
import { coderMigrations, type Migration } from "../../tools/coder/migrations.ts";
import {
  acceptedAs,
  CONVERGED,
  converge,
  outcomeOf,
  recordedAccess,
  StoredToken,
  targetOf,
} from "../support/operator-access.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The last schema of each minor version of Coder. */
const LAST_SCHEMAS = {
  "2.20": 296,
  "2.21": 313,
  "2.22": 326,
  "2.23": 331,
  "2.24": 343,
  "2.25": 352,
  "2.26": 362,
  "2.27": 376,
  "2.28": 393,
  "2.29": 401,
  "2.30": 412,
  "2.31": 421,
  "2.32": 462,
  "2.33": 483,
  "2.34": 509,
  "2.35": 535,
  "2.36": 556,
} as const;
type Version = keyof typeof LAST_SCHEMAS;
const VERSIONS = Object.keys(LAST_SCHEMAS) as Version[];

let postgres: Postgres;
let migrations: readonly Migration[];
/** The names of databases with the schema of a version and nothing more, from which tests get copies. */
const templates = new Map<Version, string>();

/** Does what coderd does at its start, up to the last schema of a version. */
async function migrate({ url }: Pick<Database, "url">, version: Version): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("CREATE TABLE IF NOT EXISTS schema_migrations (version bigint, dirty boolean)");
  const { rows } = await client.query("SELECT version::int FROM schema_migrations");
  const from = rows[0]?.version ?? 0;
  for (const { schema, sql } of migrations)
    if (schema > from && schema <= LAST_SCHEMAS[version]) await client.query(sql);
  await client.query("TRUNCATE schema_migrations");
  await client.query("INSERT INTO schema_migrations VALUES ($1, false)", [LAST_SCHEMAS[version]]);
  await client.end();
}

beforeAll(async () => {
  [postgres, migrations] = await Promise.all([startPostgres(), coderMigrations()]);
  let previous = (await postgres.createDatabase("empty")).name;
  for (const version of VERSIONS) {
    const template = await postgres.copyDatabase(previous);
    await migrate(template, version);
    previous = template.name;
    templates.set(version, template.name);
  }
});
afterAll(() => postgres?.stop());

it("the pinned Coder has exactly the schemas that these tests go through", () => {
  expect(migrations.map(({ schema }) => schema)).toEqual(migrations.map((_, index) => index + 1));
  expect(migrations.length).toBe(Math.max(...Object.values(LAST_SCHEMAS)));
});

/** One database per version, whose tests go on where the one before left it: copies take time. */
describe.each(VERSIONS)("on the last schema of Coder %s", (version) => {
  const clock = new VirtualClock(Date.now());
  const access = operatorAccess({ clock, fence: unfenced });
  const store = new StoredToken();
  let database: Database;
  beforeAll(async () => {
    database = await postgres.copyDatabase(templates.get(version) ?? "");
  });

  const outcome = () => outcomeOf(database, store, clock);
  const has = async (table: string, column: string) => {
    const sql = "SELECT FROM information_schema.columns WHERE table_name = $1 AND column_name = $2";
    return (await database.query(sql, [table, column])).length > 0;
  };
  const damage = (change: string) =>
    database.query(`UPDATE users SET ${change} WHERE username = 'coder-k8s-operator' AND NOT deleted`);
  const settle = async () => {
    await converge(access, targetOf(database), store);
    return outcome();
  };

  it("a look shows the schema", async () => {
    expect(await access.inspect(targetOf(database))).toMatchObject({
      ok: true,
      value: { schema: { version: LAST_SCHEMAS[version], isDirty: false }, mayMigrate: true },
    });
  });

  it("a fresh database gets the system user, its membership and a token that coderd accepts", async () => {
    const { token, expiresAt } = await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
    const [user] = await database.query("SELECT * FROM users WHERE username = 'coder-k8s-operator'");
    expect(user).toMatchObject({
      email: "coder-k8s-operator@coder-k8s.invalid",
      login_type: "none",
      status: "active",
      rbac_roles: ["owner"],
      ...((await has("users", "is_system")) ? { is_system: true } : {}),
    });
    const [key] = await database.query("SELECT * FROM api_keys");
    const [id, secret = ""] = token.split("-");
    expect(key).toMatchObject({
      id,
      hashed_secret: createHash("sha256").update(secret).digest(),
      login_type: "token",
      lifetime_seconds: String(365 * 24 * 60 * 60),
      expires_at: new Date(expiresAt),
      ...((await has("api_keys", "scope")) ? { scope: "all" } : { scopes: "{coder:all}" }),
      ...((await has("api_keys", "allow_list")) ? { allow_list: ["*:*"] } : {}),
    });
    expect(expiresAt).toBe(clock.now() + 365 * DAY_MS);
  });

  it("a good token is kept without writing anything", async () => {
    const recorded = recordedAccess(clock);
    const again = await recorded.access.ensureToken(targetOf(database), store.token);
    expect(again).toMatchObject({ ok: true, value: { token: store.token } });
    expect(again.ok && again.value).not.toHaveProperty("issuedBecause");
    expect(recorded.statements.filter((sql) => /^(INSERT|UPDATE|DELETE)/.test(sql))).toEqual([]);
  });

  it("a damaged account is repaired, and its token is kept", async () => {
    const { token } = store;
    await damage("status = 'suspended', rbac_roles = '{}'");
    await database.query("DELETE FROM organization_members");
    expect(await settle()).toEqual(CONVERGED);
    expect(store.token).toBe(token);
  });

  it("an account with a login is repaired and gets another token, a deleted one is recreated", async () => {
    const { token } = store;
    await damage("login_type = 'password'");
    expect(await settle()).toEqual(CONVERGED);
    expect(store.token).not.toBe(token);
    await damage("deleted = true");
    // Before 2.34 a deleted user keeps its memberships.
    await database.query(
      "DELETE FROM organization_members m USING users u WHERE u.id = m.user_id AND u.deleted",
    );
    expect(await settle()).toEqual(CONVERGED);
  });

  it("a token that is about to end is replaced, and the stored one is valid all the time", async () => {
    const old = store.token;
    await clock.advance(336 * DAY_MS);
    const issued = await access.ensureToken(targetOf(database), old);
    expect(issued).toMatchObject({ ok: true, value: { issuedBecause: "expiring" } });
    expect(await acceptedAs(database, old, clock)).toBe(CONVERGED.stored);
    expect(await settle()).toEqual(CONVERGED);
    expect(store.token).not.toBe(old);
  });

  it("a token that was restricted is replaced", async () => {
    const hasOne = await has("api_keys", "scope");
    const restricted = hasOne ? "scope = 'application_connect'" : "scopes = '{coder:application_connect}'";
    await database.query(`UPDATE api_keys SET ${restricted}`);
    const issued = await access.ensureToken(targetOf(database), store.token);
    expect(issued).toMatchObject({ ok: true, value: { issuedBecause: "restricted" } });
    expect(await settle()).toEqual(CONVERGED);
  });

  it("a second organization gets the operator as its administrator, and the token is kept", async () => {
    const { token } = store;
    const isNeeded = await has("organizations", "default_org_member_roles");
    const [column, value] = isNeeded ? [", default_org_member_roles", ", '{}'"] : ["", ""];
    await database.query(
      `INSERT INTO organizations (id, name, description, created_at, updated_at, display_name${column})
       VALUES (gen_random_uuid(), 'second', '', now(), now(), 'Second'${value})`,
    );
    const [admin] = CONVERGED.memberships;
    expect(await settle()).toEqual({ ...CONVERGED, memberships: [admin, admin] });
    expect(store.token).toBe(token);
  });

  it("revoking ends the token and leaves the user", async () => {
    expect(await access.revokeToken(targetOf(database))).toEqual({ ok: true, value: 1 });
    expect(await outcome()).toMatchObject({ users: CONVERGED.users, keys: [], stored: undefined });
    expect(await access.revokeToken(targetOf(database))).toEqual({ ok: true, value: 0 });
  });
});

describe.each(VERSIONS)("a database user with the rights of the documentation, on Coder %s", (version) => {
  it("is enough to create, repair, replace and revoke, and a right less is not", async () => {
    const clock = new VirtualClock(Date.now());
    const access = operatorAccess({ clock, fence: unfenced });
    const database = await postgres.copyDatabase(templates.get(version) ?? "");
    const [role, password] = [`coder_operator_${version.replace(".", "_")}`, "only-for-this-test"];
    const url = new URL(database.url);
    Object.assign(url, { username: role, password });
    const target = targetOf({ url: url.href });
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
    const grants = await documentedGrants(role);
    for (const grant of grants) await database.query(grant);
    const store = new StoredToken();
    await converge(access, target, store);
    expect(await outcomeOf(database, store, clock)).toEqual(CONVERGED);
    await database.query("UPDATE users SET status = 'suspended' WHERE username = 'coder-k8s-operator'");
    await database.query("UPDATE organization_members SET roles = '{}'");
    await clock.advance(336 * DAY_MS);
    await converge(access, target, store);
    expect(await outcomeOf(database, store, clock)).toEqual(CONVERGED);
    expect(await access.inspect(target)).toMatchObject({ ok: true });
    expect(await access.revokeToken(target)).toEqual({ ok: true, value: 1 });
    await database.query(`REVOKE INSERT ON api_keys FROM ${role}`);
    expect(await access.ensureToken(target, undefined)).toMatchObject({ ok: false });
  });
});

/** The statements of the page on operator access, for this role. */
async function documentedGrants(role: string): Promise<string[]> {
  const page = await readFile(new URL("../../docs/operator-access.md", import.meta.url), "utf8");
  const grants = page.match(/^GRANT .*;$/gm) ?? [];
  expect(grants.length).toBeGreaterThan(0);
  return grants.map((grant) => grant.replace("coder_operator", role));
}

describe("a control plane that is upgraded through all of these versions", () => {
  it("keeps its token, unless system users are new and the account could have belonged to a user", async () => {
    const clock = new VirtualClock(Date.now());
    const access = operatorAccess({ clock, fence: unfenced });
    const store = new StoredToken();
    const database = await postgres.copyDatabase(templates.get("2.20") ?? "");
    const replacedAt: Version[] = [];
    for (const version of VERSIONS) {
      const { token } = store;
      await migrate(database, version);
      await converge(access, targetOf(database), store);
      expect(await outcomeOf(database, store, clock)).toEqual(CONVERGED);
      if (token !== store.token) replacedAt.push(version);
    }
    expect(replacedAt).toEqual(["2.20", "2.21"]);
  });
});

describe("the tables of tests that have no migrations at hand", () => {
  const COLUMNS = `
    SELECT c.relname AS table, a.attname AS column, format_type(a.atttypid, a.atttypmod) AS type,
           a.attnotnull AS required, pg_get_expr(d.adbin, d.adrelid) AS default
    FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE c.oid = ANY (ARRAY['users', 'organizations', 'organization_members', 'api_keys']::regclass[])
      AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attname`;
  const CHECKS = `
    SELECT conname AS name FROM pg_constraint
    WHERE contype = 'c' AND conrelid IN ('users'::regclass, 'api_keys'::regclass)`;
  const LABELS = `
    SELECT t.typname || ' ' || e.enumlabel AS label FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
    WHERE t.typname IN ('login_type', 'user_status', 'api_key_scope')`;

  it("have exactly the columns, checks and enum values of the migrations", async () => {
    const fixture = await postgres.createDatabase("migrated");
    const real = await postgres.copyDatabase(templates.get("2.36") ?? "");
    expect(await fixture.query(COLUMNS)).toEqual(await real.query(COLUMNS));
    expect(await real.query(CHECKS)).toEqual(expect.arrayContaining(await fixture.query(CHECKS)));
    expect(await real.query(LABELS)).toEqual(expect.arrayContaining(await fixture.query(LABELS)));
  });
});
