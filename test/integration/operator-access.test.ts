import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterAll, describe, expect, it } from "vitest";
import { PostgresAccounts } from "../../lab/coderd/accounts.ts";
import { startCoderdServer } from "../../lab/coderd/server.ts";
import type { Database } from "../../lab/postgres.ts";
import { CoderClients } from "../../src/coder/clients.ts";
import { type OperatorAccess, operatorAccess } from "../../src/coder/operator-access/access.ts";
import { converge, StoredToken, targetOf } from "../support/operator-access.ts";
import { sharedPostgres } from "../support/shared-postgres.ts";

const postgres = sharedPostgres();
let clock: VirtualClock;
let access: OperatorAccess;
let store: StoredToken;
let database: Database;

afterAll(() => postgres.stop());

async function start(): Promise<void> {
  clock = new VirtualClock(Date.now());
  access = operatorAccess({ clock, fence: unfenced });
  store = new StoredToken();
  database = await postgres.createDatabase("migrated");
}

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
