import { createHash } from "node:crypto";
import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { PostgresAccounts } from "../../lab/coderd/accounts.ts";
import { startCoderdServer } from "../../lab/coderd/server.ts";
import type { Database, Schema } from "../../lab/postgres.ts";
import { CoderClients } from "../../src/coder/clients.ts";
import { type OperatorAccess, operatorAccess } from "../../src/coder/operator-access/access.ts";
import {
  acceptedAs,
  CONVERGED,
  converge,
  outcomeOf,
  recordedAccess,
  StoredToken,
  targetOf,
} from "../support/operator-access.ts";
import { sharedPostgres } from "../support/shared-postgres.ts";

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
