import { createHash } from "node:crypto";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { CoderClients } from "../../src/coder/clients.ts";
import { type OperatorAccess, operatorAccess } from "../../src/coder/operator-access/access.ts";
import { VirtualClock } from "../support/clock.ts";
import { PostgresAccounts } from "../support/coderd/accounts.ts";
import { startCoderdServer } from "../support/coderd/server.ts";
import {
  acceptedAs,
  CONVERGED,
  converge,
  outcomeOf,
  recordedAccess,
  StoredToken,
  targetOf,
} from "../support/operator-access.ts";
import type { Database, Schema } from "../support/postgres.ts";
import { sharedPostgres } from "../support/shared-postgres.ts";
import { unfenced } from "../support/unfenced.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

const postgres = sharedPostgres();
let clock: VirtualClock;
let access: OperatorAccess;
let store: StoredToken;
let database: Database;

afterAll(() => postgres.stop());

async function start(schema: Schema = "2.26"): Promise<void> {
  clock = new VirtualClock(Date.now());
  access = operatorAccess({ clock, fence: unfenced });
  store = new StoredToken();
  database = await postgres.createDatabase(schema);
}

const outcome = () => outcomeOf(database, store, clock);

describe.each(["2.20", "2.26", "2.27"] as const)("on the tables of coderd %s", (schema) => {
  beforeEach(() => start(schema));

  it("a fresh database gets the system user, its membership and a token that coderd accepts", async () => {
    const { token, expiresAt } = await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
    const [user] = await database.query("SELECT * FROM users");
    expect(user).toMatchObject({
      email: "coder-k8s-operator@coder-k8s.invalid",
      login_type: "none",
      status: "active",
      rbac_roles: ["owner"],
      ...(schema === "2.20" ? {} : { is_system: true }),
    });
    const [key] = await database.query("SELECT *, ip_address::text AS ip FROM api_keys");
    const [id, secret = ""] = token.split("-");
    expect(key).toMatchObject({
      id,
      hashed_secret: createHash("sha256").update(secret).digest(),
      login_type: "token",
      lifetime_seconds: String(365 * 24 * 60 * 60),
      expires_at: new Date(expiresAt),
      ...(schema === "2.27" ? { allow_list: ["*:*"], scopes: "{coder:all}" } : { scope: "all" }),
    });
    expect(expiresAt).toBe(clock.now() + 365 * DAY_MS);
  });

  it("a good token is kept without writing anything", async () => {
    const { token } = await converge(access, targetOf(database), store);
    const recorded = recordedAccess(clock);
    const again = await recorded.access.ensureToken(targetOf(database), token);
    expect(again).toMatchObject({ ok: true, value: { token } });
    expect(again.ok && again.value).not.toHaveProperty("issuedBecause");
    expect(recorded.statements.filter((sql) => /^(INSERT|UPDATE|DELETE)/.test(sql))).toEqual([]);
    expect(await database.query("SELECT count(*)::int FROM user_status_changes")).toEqual([{ count: 1 }]);
  });

  it("a token that is about to end is replaced, and the stored one is valid all the time", async () => {
    await converge(access, targetOf(database), store);
    const old = store.token;
    await clock.advance(336 * DAY_MS);
    const issued = await access.ensureToken(targetOf(database), old);
    expect(issued).toMatchObject({ ok: true, value: { issuedBecause: "expiring" } });
    expect(await acceptedAs(database, old, clock)).toBe("coder-k8s-operator (owner)");
    await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
    expect(store.token).not.toBe(old);
  });

  it("revoking ends the token and leaves the user", async () => {
    await converge(access, targetOf(database), store);
    expect(await access.revokeToken(targetOf(database))).toEqual({ ok: true, value: 1 });
    expect(await outcome()).toMatchObject({ users: ["coder-k8s-operator"], keys: [], stored: undefined });
    expect(await access.revokeToken(targetOf(database))).toEqual({ ok: true, value: 0 });
  });
});

describe("a token", () => {
  beforeEach(async () => {
    await start();
    await converge(access, targetOf(database), store);
  });

  it.each([
    ["gone from the database", "DELETE FROM api_keys", "unknown"],
    ["of another secret", "UPDATE api_keys SET hashed_secret = '\\x00'", "wrongSecret"],
    ["expired", "UPDATE api_keys SET expires_at = now() - interval '1 day'", "expired"],
    ["about to end", "UPDATE api_keys SET expires_at = now() + interval '29 days'", "expiring"],
    ["restricted", "UPDATE api_keys SET scope = 'application_connect'", "restricted"],
    ["of another name", "UPDATE api_keys SET token_name = 'mine'", "unknown"],
  ])("that is %s is replaced", async (_, damage, because) => {
    const before = store.token;
    await database.query(damage);
    const issued = await access.ensureToken(targetOf(database), before);
    expect(issued).toMatchObject({ ok: true, value: { issuedBecause: because } });
    await converge(access, targetOf(database), store);
    expect(store.token).not.toBe(before);
    expect(await outcome()).toMatchObject({ stored: CONVERGED.stored });
    const ours = await database.query("SELECT id FROM api_keys WHERE token_name <> 'mine'");
    expect(ours).toHaveLength(1);
  });

  it("that was lost from the store is replaced and its predecessor ended", async () => {
    store = new StoredToken();
    await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
  });

  it("that can't be stored again and again does not pile up in the database", async () => {
    for (let attempt = 0; attempt < 40; attempt++) {
      await access.ensureToken(targetOf(database), "nonsense");
      await clock.advance(30_000);
    }
    const [keys] = await database.query("SELECT count(*)::int FROM api_keys");
    expect(keys?.count).toBeLessThanOrEqual(11);
    await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
  });

  it("of another control plane on the same database is left alone", async () => {
    const other = new StoredToken();
    const target = targetOf(database, { controlPlane: { namespace: "prod", name: "coder-2" } });
    await converge(access, target, other);
    await access.revokeToken(targetOf(database));
    expect(await acceptedAs(database, other.token, clock)).toBe("coder-k8s-operator (owner)");
    expect((await outcome()).keys).toHaveLength(1);
  });
});

describe("the system user", () => {
  beforeEach(async () => {
    await start();
    await converge(access, targetOf(database), store);
  });

  it.each([
    ["its role", "UPDATE users SET rbac_roles = '{}'"],
    ["its status", "UPDATE users SET status = 'suspended'"],
    ["its e-mail address", "UPDATE users SET email = 'x@example.com'"],
    ["its name", "UPDATE users SET username = 'renamed'"],
    ["its membership", "DELETE FROM organization_members"],
    ["its role in an organization", "UPDATE organization_members SET roles = '{}'"],
  ])("that lost %s gets it back and keeps its token", async (_, damage) => {
    const { token } = store;
    await database.query(damage);
    await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
    expect(store.token).toBe(token);
  });

  it.each([
    ["login type", "UPDATE users SET login_type = 'password'"],
    ["system mark", "UPDATE users SET is_system = false"],
  ])("that lost its %s, so that somebody may have logged in, also loses every session", async (_, damage) => {
    await database.query(damage);
    await database.query(
      `INSERT INTO api_keys (id, hashed_secret, user_id, last_used, expires_at, created_at, updated_at, login_type)
       SELECT 'intruder00', '\\x00', id, now(), now() + interval '1 day', now(), now(), 'password' FROM users`,
    );
    await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
    expect(await database.query("SELECT login_type::text, is_system FROM users")).toEqual([
      { login_type: "none", is_system: true },
    ]);
  });

  it("that was deleted is made anew", async () => {
    await database.query("UPDATE users SET deleted = true");
    await converge(access, targetOf(database), store);
    expect(await outcome()).toMatchObject({ ...CONVERGED, memberships: expect.any(Array) });
  });

  it("joins organizations made later, but none that is deleted", async () => {
    await database.query(
      `INSERT INTO organizations (id, name, description, created_at, updated_at, display_name, deleted)
       SELECT gen_random_uuid(), n, '', now(), now(), n, n = 'gone' FROM unnest(ARRAY['late', 'gone']) n`,
    );
    await converge(access, targetOf(database), store);
    expect((await outcome()).memberships).toEqual([["organization-admin"], ["organization-admin"]]);
  });
});

describe("a person with the operator's name", () => {
  it.each(["password", "oidc", "none"])("who logs in by %s is never made owner", async (loginType) => {
    await start();
    await database.query(
      `INSERT INTO users (id, email, username, hashed_password, created_at, updated_at, login_type)
       VALUES (gen_random_uuid(), 'eve@example.com', 'Coder-K8s-Operator', '\\x00', now(), now(), $1)`,
      [loginType],
    );
    const result = await access.ensureToken(targetOf(database), undefined);
    expect(result).toMatchObject({ ok: false, failure: { kind: "accountTaken" } });
    expect(await database.query("SELECT rbac_roles, email FROM users")).toEqual([
      { rbac_roles: [], email: "eve@example.com" },
    ]);
    expect(await database.query("SELECT * FROM api_keys")).toEqual([]);
  });
});

describe("at coderd", () => {
  it("the token is the operator's and an owner's until it is revoked", async () => {
    await start();
    const server = await startCoderdServer();
    server.add({ accounts: new PostgresAccounts(database.url), now: () => clock.now() });
    const clients = new CoderClients({ fence: unfenced, clock });
    const { token } = await converge(access, targetOf(database), store);
    const coder = clients.client({ url: server.url, token });
    expect(await coder.currentUser()).toMatchObject({
      ok: true,
      value: { username: "coder-k8s-operator", roles: ["owner"] },
    });
    await access.revokeToken(targetOf(database));
    expect(await coder.currentUser()).toMatchObject({
      ok: false,
      failure: { kind: "forbidden", why: "unauthenticated" },
    });
    await clients.close();
    await server.close();
  });
});

describe("connections", () => {
  it("are closed after every call", async () => {
    await start();
    await converge(access, targetOf(database), store);
    const open = () =>
      database.query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'coder-k8s' AND datname = current_database()",
      );
    await expect.poll(open).toEqual([]);
  });
});
