import { VirtualClock } from "kube-controller-runtime/testing";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import {
  acceptedAs,
  type CoderdDatabase,
  type CoderdDatabases,
  type Misbehavior,
} from "../../lab/coderd-database/database.ts";
import { MemoryDatabases } from "../../lab/coderd-database/memory.ts";
import { PostgresDatabases } from "../../lab/coderd-database/postgres.ts";
import type { OperatorAccess } from "../../src/coder/operator-access/access.ts";
import { converge, StoredToken, targetOf } from "../support/operator-access.ts";
import { sharedPostgres } from "../support/shared-postgres.ts";

const DAY_MS = 24 * 60 * 60_000;
const OPERATOR = "coder-k8s-operator (owner)";
const TOKEN_NAME = "coder-k8s-operator-9daacaed8182e491";

// Statements that harm a real database go by its own time.
const clock = new VirtualClock(Date.now());
const servers: [string, CoderdDatabases][] = [
  ["in memory", new MemoryDatabases(clock)],
  ["in Postgres", new PostgresDatabases(sharedPostgres(), clock)],
];
afterAll(() => Promise.all(servers.map(([, databases]) => databases.close())));

describe.each(servers)("operator access through a database %s", (_, databases) => {
  let database: CoderdDatabase;
  let store: StoredToken;
  const access: OperatorAccess = databases.access;
  beforeEach(async () => {
    database = await databases.create();
    store = new StoredToken();
    await converge(access, targetOf(database), store);
  });

  async function outcome() {
    return {
      users: (await database.users()).map(({ username }) => username),
      memberships: await database.memberships(),
      keys: (await database.keys()).map(({ name }) => name),
      stored: await acceptedAs(database, store.token, clock.now()),
    };
  }
  const CONVERGED = {
    users: ["coder-k8s-operator"],
    memberships: [["organization-admin"]],
    keys: [TOKEN_NAME],
    stored: OPERATOR,
  };

  test("creates a system user without a login, and one token that is valid for a year", async () => {
    expect(await outcome()).toEqual(CONVERGED);
    expect(await database.users()).toMatchObject([
      {
        email: "coder-k8s-operator@coder-k8s.invalid",
        status: "active",
        roles: ["owner"],
        loginType: "none",
        isSystem: true,
      },
    ]);
    const again = await access.ensureToken(targetOf(database), store.token);
    expect(again).toEqual({ ok: true, value: { token: store.token, expiresAt: clock.now() + 365 * DAY_MS } });
  });

  test.each<[Misbehavior, string]>([
    ["keys deleted", "unknown"],
    ["keys given another hash", "wrongSecret"],
    ["keys expired", "expired"],
    ["keys about to end", "expiring"],
    ["keys restricted", "restricted"],
    ["keys renamed", "unknown"],
  ])("replaces the token after: %s", async (misdeed, issuedBecause) => {
    const before = store.token;
    await database.suffer(misdeed);
    const issued = await access.ensureToken(targetOf(database), before);
    expect(issued).toMatchObject({ ok: true, value: { issuedBecause } });
    await converge(access, targetOf(database), store);
    expect(store.token).not.toBe(before);
    expect((await outcome()).stored).toBe(OPERATOR);
    expect((await outcome()).keys.filter((name) => name !== "mine")).toEqual([TOKEN_NAME]);
  });

  test("reports whether another token is valid next to a new one, and revokes it once the new one is stored", async () => {
    const before = store.token ?? "";
    await database.suffer("keys about to end");
    const issued = await access.ensureToken(targetOf(database), before);
    expect(issued).toMatchObject({ ok: true, value: { hasPredecessor: true } });
    const old = TOKEN_NAME.concat("-", before.split("-")[0] ?? "");
    expect((await outcome()).keys.toSorted()).toEqual([TOKEN_NAME, old]);
    expect(await acceptedAs(database, before, clock.now())).toBe(OPERATOR);
    await access.ensureToken(targetOf(database), issued.ok ? issued.value.token : "");
    expect((await outcome()).keys).toEqual([TOKEN_NAME]);
    await database.suffer("keys deleted");
    const alone = await access.ensureToken(targetOf(database), before);
    expect(alone).toMatchObject({ ok: true, value: { hasPredecessor: false } });
  });

  test("replaces a good token on request, and keeps it valid until the new one is stored, at any age", async () => {
    const before = store.token ?? "";
    await clock.advance(DAY_MS);
    const issued = await access.ensureToken(targetOf(database), before, { replace: true });
    expect(issued).toMatchObject({ ok: true, value: { issuedBecause: "requested", hasPredecessor: true } });
    expect(await acceptedAs(database, before, clock.now())).toBe(OPERATOR);
    await access.ensureToken(targetOf(database), issued.ok ? issued.value.token : "");
    expect((await outcome()).keys).toEqual([TOKEN_NAME]);
  });

  test("keeps a token that coderd has extended, until its new end", async () => {
    await database.suffer("keys extended by 200 days");
    const kept = await access.ensureToken(targetOf(database), store.token);
    expect(kept).toEqual({ ok: true, value: { token: store.token, expiresAt: clock.now() + 565 * DAY_MS } });
  });

  test("replaces a token that was lost from the store, and ends the lost one", async () => {
    store = new StoredToken();
    await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
  });

  test("does not accumulate tokens that are not stored", async () => {
    for (let attempt = 0; attempt < 40; attempt++) {
      await access.ensureToken(targetOf(database), "nonsense");
      await clock.advance(30_000);
    }
    expect((await database.keys()).length).toBeLessThanOrEqual(11);
    await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
  });

  test("leaves the token of another control plane alone", async () => {
    const other = new StoredToken();
    const target = targetOf(database, { controlPlane: { namespace: "prod", name: "coder-2", uid: "2" } });
    await converge(access, target, other);
    await access.revokeToken(targetOf(database));
    expect(await acceptedAs(database, other.token, clock.now())).toBe(OPERATOR);
    expect((await outcome()).keys).toHaveLength(1);
  });

  describe("shared by two clusters whose control planes have the same namespace and name", () => {
    const elsewhere = () =>
      targetOf(database, { controlPlane: { namespace: "prod", name: "coder", uid: "elsewhere" } });
    const accepted = (token: string | undefined) => acceptedAs(database, token, clock.now());

    test("gives each its own token, and neither revokes the other's", async () => {
      const first = store.token;
      const other = new StoredToken();
      await clock.advance(DAY_MS);
      await converge(access, elsewhere(), other);
      for (let look = 0; look < 3; look++) {
        await clock.advance(10 * 60_000);
        await converge(access, targetOf(database), store);
        await converge(access, elsewhere(), other);
      }
      expect(store.token).toBe(first);
      expect([await accepted(store.token), await accepted(other.token)]).toEqual([OPERATOR, OPERATOR]);
      expect((await outcome()).keys).toHaveLength(2);
    });

    test("ends only its own when a token is replaced, lost or revoked", async () => {
      const other = new StoredToken();
      await converge(access, elsewhere(), other);
      await clock.advance(DAY_MS);
      await access.ensureToken(targetOf(database), store.token, { replace: true });
      await clock.advance(DAY_MS);
      store = new StoredToken();
      await converge(access, targetOf(database), store);
      expect((await outcome()).keys).toHaveLength(2);
      expect([await accepted(store.token), await accepted(other.token)]).toEqual([OPERATOR, OPERATOR]);
      expect(await access.revokeToken(elsewhere(), [other.token ?? ""])).toEqual({ ok: true, value: 1 });
      expect([await accepted(store.token), await accepted(other.token)]).toEqual([OPERATOR, undefined]);
      await converge(access, targetOf(database), store);
      expect((await outcome()).keys).toEqual([TOKEN_NAME]);
    });

    test("replaces the copy of a token, and leaves the original to the cluster that wrote it", async () => {
      const copy = new StoredToken();
      copy.token = store.token;
      await clock.advance(DAY_MS);
      expect(await access.ensureToken(elsewhere(), copy.token)).toMatchObject({
        ok: true,
        value: { issuedBecause: "copied", hasPredecessor: false },
      });
      await converge(access, elsewhere(), copy);
      expect(copy.token).not.toBe(store.token);
      expect(await access.revokeToken(elsewhere(), [store.token ?? ""])).toMatchObject({ ok: true });
      expect([await accepted(store.token), await accepted(copy.token)]).toEqual([OPERATOR, undefined]);
    });

    test("deletes expired tokens, regardless of their creator", async () => {
      await converge(access, elsewhere(), new StoredToken());
      await database.suffer("keys expired");
      await converge(access, targetOf(database), store);
      expect((await outcome()).keys).toEqual([TOKEN_NAME]);
    });
  });

  test("revokes the token and leaves the user; a second time there is nothing to revoke", async () => {
    expect(await access.revokeToken(targetOf(database))).toEqual({ ok: true, value: 1 });
    expect(await outcome()).toMatchObject({ users: ["coder-k8s-operator"], keys: [], stored: undefined });
    expect(await access.revokeToken(targetOf(database))).toEqual({ ok: true, value: 0 });
  });

  test.each<Misbehavior>([
    "user without a role",
    "user suspended",
    "user with another address",
    "user with another name",
    "membership deleted",
    "membership without a role",
  ])("puts the system user right and keeps its token after: %s", async (misdeed) => {
    const { token } = store;
    await database.suffer(misdeed);
    await converge(access, targetOf(database), store);
    expect(await outcome()).toEqual(CONVERGED);
    expect(store.token).toBe(token);
  });

  test.each<Misbehavior>(["user who logs in by password", "user who is not a system user"])(
    "deletes every session and token of a user that may have been used to log in: %s",
    async (misdeed) => {
      const { token } = store;
      await database.suffer(misdeed);
      await database.suffer("session of an intruder");
      await converge(access, targetOf(database), store);
      expect(await outcome()).toEqual(CONVERGED);
      expect(store.token).not.toBe(token);
      expect(await database.users()).toMatchObject([{ loginType: "none", isSystem: true }]);
    },
  );

  test("recreates a deleted user", async () => {
    await database.suffer("user deleted");
    expect(await outcome()).toMatchObject({ keys: [], stored: undefined });
    await converge(access, targetOf(database), store);
    expect(await outcome()).toMatchObject({ users: CONVERGED.users, keys: CONVERGED.keys, stored: OPERATOR });
  });

  test("joins organizations made later, but none that is deleted", async () => {
    await database.suffer("another organization, and a deleted one");
    await converge(access, targetOf(database), store);
    expect(await database.memberships()).toEqual([["organization-admin"], ["organization-admin"]]);
  });

  test("takes no person for the operator", async () => {
    const other = await databases.create();
    await other.suffer("name taken by a person");
    expect(await access.ensureToken(targetOf(other), undefined)).toMatchObject({
      ok: false,
      failure: { kind: "accountTaken", message: expect.stringContaining("rename that user") },
    });
    expect(await other.users()).toMatchObject([{ roles: [] }]);
    expect(await other.keys()).toEqual([]);
    await other.suffer("name freed by that person");
    expect(await access.ensureToken(targetOf(other), undefined)).toMatchObject({ ok: true });
  });

  test.each<[string, (url: string) => string, string]>([
    ["of another scheme", (url) => url.replace("postgres:", "mysql:"), "invalidUrl"],
    ["to a closed port", (url) => url.replace(/:\d+\//, ":1/"), "unreachable"],
    ["with another password", (url) => url.replace(/:[^:@]+@/, ":wrong-password@"), "authenticationFailed"],
    ["of a database that is not there", (url) => url.replace(/\/[^/]+$/, "/nowhere"), "databaseMissing"],
    ["that asks for TLS where there is none", (url) => `${url}?sslmode=require`, "tlsFailed"],
  ])("a connection URL %s has a specific failure", async (_, harm, kind) => {
    const before = databases.connections;
    const result = await access.ensureToken(targetOf({ url: harm(database.url) }), undefined);
    expect(result).toMatchObject({ ok: false, failure: { kind } });
    // A real one may be tried with and without encryption.
    expect(databases.connections > before).toBe(kind !== "invalidUrl");
  });
});
