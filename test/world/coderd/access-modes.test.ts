import { Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import { type Coderd, type CoderdStage, openCoderdStage, urlVariable } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const TYPE = "OperatorAccessReady";
const DAY_MS = 24 * 60 * 60_000;
const nowhere = "postgres://operator:some-password@127.0.0.1:1/nowhere";
const keysOf = ({ database }: Coderd) => database.keys();

/** A control plane with a token that the operator has made for itself. */
async function withOwnToken(name: string): Promise<Coderd> {
  const coderd = await stage.coderd(name);
  await stage.serve(name, coderd);
  await stage.untilReady(name);
  return coderd;
}

describe("a given token", () => {
  const owner = "givenowner-0123456789abcdefghijkl";
  const successor = "givenafter-0123456789abcdefghijkl";
  const member = "givenmembr-0123456789abcdefghijkl";
  const given = (name: string) => ({ operatorAccess: { tokenSecretRef: { name: `${name}-token` } } });

  async function coderdWithPeople(name: string): Promise<Coderd & { accounts: StaticAccounts }> {
    const accounts = new StaticAccounts();
    accounts.add(owner, { owner: true });
    accounts.add(member, { owner: false });
    return { ...(await stage.coderd(name, { accounts })), accounts };
  }

  test("is checked and used, and no SQL is run, although the database is known", async () => {
    const coderd = await coderdWithPeople("given");
    const { connections } = stage.databases;
    await stage.putSecret("given-token", { token: `${owner}\n` });
    await stage.serve("given", coderd, given("given"));
    await stage.untilReady("given");
    await stage.untilStatus("given", {
      operatorTokenSecretRef: { name: "given-token", key: "token" },
      licenseTier: "none",
    });
    expect(stage.databases.connections).toBe(connections);
    expect(await coderd.database.users()).toEqual([]);
    expect(await stage.exists(Secret, "given-operator-token")).toBe(false);
  });

  test("that ends is reported two weeks before, with one event, until another is given", async () => {
    const coderd = await coderdWithPeople("ending");
    const endsAt = stage.clock.now() + 15 * DAY_MS;
    const day = new Date(endsAt).toISOString().slice(0, 10);
    coderd.accounts.add(owner, { owner: true, expiresAt: endsAt });
    coderd.accounts.add(successor, { owner: true });
    await stage.putSecret("ending-token", { token: owner });
    await stage.serve("ending", coderd, given("ending"));
    await stage.untilCondition("ending", TYPE, { status: "True", reason: "TokenReady" });
    await stage.untilStatus("ending", { operatorTokenExpires: expect.stringContaining(day) });
    await stage.timePasses(DAY_MS + 60 * 60_000);
    const soon = await stage.untilCondition("ending", TYPE, { status: "True", reason: "TokenExpiresSoon" });
    expect(soon.message).toContain(`"ending-token" expires on ${day}`);
    await stage.timePasses(DAY_MS);
    const events = await stage.events("ending");
    expect(events.filter(({ reason }) => reason === "TokenExpiresSoon")).toHaveLength(1);
    await stage.putSecret("ending-token", { token: successor });
    await stage.untilCondition("ending", TYPE, { status: "True", reason: "TokenReady" });
    await stage.change("ending", { operatorAccess: null });
    await stage.eventually(async () =>
      expect((await stage.status("ending")).operatorTokenExpires).toBeUndefined(),
    );
  });

  test("has a reason for each way in which it is invalid, until it is valid", async () => {
    const coderd = await coderdWithPeople("fussy");
    await stage.create("fussy", given("fussy"));
    const missing = await stage.untilCondition("fussy", TYPE, { reason: "SecretMissing" });
    expect(missing.message).toContain('Secret "fussy-token"');
    await stage.putSecret("fussy-token", { token: owner });
    await stage.untilCondition("fussy", TYPE, { status: "False", reason: "Pending" });
    coderd.deployment.faults.inject({ fault: { kind: "html" }, on: "GET /api/v2/users/me", times: 1 });
    await stage.untilServing("fussy");
    await stage.untilCondition("fussy", TYPE, { reason: "CoderdUnreachable" });
    await stage.timePasses(30_000);
    await stage.untilReady("fussy");
    await stage.putSecret("fussy-token", { token: member });
    const weak = await stage.untilCondition("fussy", TYPE, { reason: "TokenRejected" });
    expect(weak.message).toContain('User "member" does not have the role owner');
    await stage.putSecret("fussy-token", { token: "nobodys-own-0123456789abcdefgh" });
    await stage.untilCondition("fussy", TYPE, { message: expect.stringContaining("signed out") });
    await stage.putSecret("fussy-token", { token: owner });
    await stage.untilReady("fussy");
  });

  test("stays good while coderd does not answer, and is rejected once coderd says so", async () => {
    const coderd = await coderdWithPeople("silent");
    await stage.putSecret("silent-token", { token: owner });
    await stage.serve("silent", coderd, given("silent"));
    await stage.untilReady("silent");
    const me = "GET /api/v2/users/me";
    coderd.deployment.faults.inject({ fault: { kind: "cut" }, on: me });
    await stage.timePasses(10 * 60_000);
    await stage.eventually(() => expect(coderd.deployment.count(me)).toBeGreaterThanOrEqual(2));
    await stage.untilReady("silent");
    coderd.deployment.faults.clear();
    coderd.accounts.remove(owner);
    await stage.timePasses(30_000);
    await stage.untilCondition("silent", TYPE, { status: "False", reason: "TokenRejected" });
  });

  test("takes over from one that the operator made, which is revoked", async () => {
    const coderd = await withOwnToken("taken-over");
    await stage.putSecret("taken-over-token", { token: "unknown-to-coderd-000000000000" });
    await stage.change("taken-over", given("taken-over"));
    await stage.untilCondition("taken-over", TYPE, { status: "False", reason: "TokenRejected" });
    expect(await keysOf(coderd)).toEqual([]);
    expect(await stage.exists(Secret, "taken-over-operator-token")).toBe(false);
  });

  test("takes over also while the database is out of reach; what is left to revoke is reported and revoked later", async () => {
    const coderd = await withOwnToken("moved");
    const own = await stage.token("moved-operator-token");
    await stage.putSecret("moved-token", { token: own });
    coderd.deployment.faults.inject({ fault: { kind: "cut" }, on: /^DELETE/ });
    await stage.change("moved", { ...given("moved"), extraEnv: [urlVariable(nowhere)] });
    await stage.untilCondition("moved", TYPE, {
      status: "True",
      message: expect.stringContaining("could not be revoked yet"),
    });
    expect(await keysOf(coderd)).toHaveLength(1);
    await stage.change("moved", { extraEnv: [urlVariable(coderd.database.url)] });
    await stage.untilGone(Secret, "moved-operator-token");
    expect(await keysOf(coderd)).toEqual([]);
  });

  test("may be the one that the operator created: it is kept, and the database is not used any more", async () => {
    const coderd = await withOwnToken("kept");
    const { connections } = stage.databases;
    const before = await stage.token("kept-operator-token");
    await stage.change("kept", { operatorAccess: { tokenSecretRef: { name: "kept-operator-token" } } });
    await stage.settled("kept");
    await stage.untilReady("kept");
    expect(await stage.token("kept-operator-token")).toBe(before);
    expect(stage.databases.connections).toBe(connections);
    expect(await keysOf(coderd)).toHaveLength(1);
  });
});

test("another name for the Secret moves the token there, without a word to the database", async () => {
  const coderd = await withOwnToken("renamed");
  const { connections } = stage.databases;
  const before = await stage.token("renamed-operator-token");
  await stage.change("renamed", { operatorAccess: { generatedTokenSecretName: "elsewhere" } });
  await stage.untilStatus("renamed", { operatorTokenSecretRef: { name: "elsewhere", key: "token" } });
  expect(await stage.token("elsewhere")).toBe(before);
  expect(await stage.exists(Secret, "renamed-operator-token")).toBe(false);
  expect(stage.databases.connections).toBe(connections);
  expect(await keysOf(coderd)).toHaveLength(1);
});

describe("turned off", () => {
  const off = { operatorAccess: { disabled: true } };

  test("the token is revoked and its Secret removed; turned on again there is a new one", async () => {
    const coderd = await withOwnToken("off");
    const before = await stage.token("off-operator-token");
    await stage.change("off", off);
    await stage.untilCondition("off", TYPE, { status: "False", reason: "Disabled" });
    expect(await keysOf(coderd)).toEqual([]);
    expect(await stage.exists(Secret, "off-operator-token")).toBe(false);
    const { status } = await stage.controlPlane("off");
    expect(status).toMatchObject({ operatorAccessReady: false });
    expect(status?.operatorTokenSecretRef).toBeUndefined();
    expect((await stage.events("off")).map(({ reason }) => reason)).toContain("TokenRevoked");
    await stage.change("off", { operatorAccess: { disabled: null } });
    await stage.untilReady("off");
    expect(await stage.token("off-operator-token")).not.toBe(before);
  });

  test("the token is revoked by coderd's API where the database is out of reach", async () => {
    const coderd = await withOwnToken("off-by-api");
    await stage.change("off-by-api", { ...off, extraEnv: [urlVariable(nowhere)] });
    await stage.untilCondition("off-by-api", TYPE, { reason: "Disabled" });
    expect(await keysOf(coderd)).toEqual([]);
    expect(await stage.exists(Secret, "off-by-api-operator-token")).toBe(false);
  });

  test("the token is revoked in the database also when its Secret is gone", async () => {
    const coderd = await withOwnToken("off-no-secret");
    await stage.operator.stop();
    await stage.person.delete(Secret, stage.ref("off-no-secret-operator-token"));
    await stage.change("off-no-secret", off);
    await stage.restart();
    await stage.untilCondition("off-no-secret", TYPE, { reason: "Disabled" });
    expect(await keysOf(coderd)).toEqual([]);
    const { connections } = stage.databases;
    await stage.touch("off-no-secret", "again");
    expect(stage.databases.connections).toBe(connections);
  });

  test("the condition says so while neither can be reached, and the Secret stays as a reminder", async () => {
    const coderd = await withOwnToken("off-later");
    coderd.deployment.faults.inject({ fault: { kind: "cut" }, on: /^DELETE/ });
    await stage.change("off-later", { ...off, extraEnv: [urlVariable(nowhere)] });
    const { message } = await stage.untilCondition("off-later", TYPE, { reason: "DatabaseUnreachable" });
    expect(message).toContain("could not be revoked yet");
    expect(await stage.exists(Secret, "off-later-operator-token")).toBe(true);
    await stage.change("off-later", { extraEnv: [urlVariable(coderd.database.url)] });
    await stage.untilCondition("off-later", TYPE, { reason: "Disabled" });
    expect(await keysOf(coderd)).toEqual([]);
  });

  test("with no database any more the token is revoked by coderd's API", async () => {
    const coderd = await withOwnToken("off-no-url");
    await stage.change("off-no-url", { ...off, extraEnv: [] });
    await stage.untilCondition("off-no-url", TYPE, { reason: "Disabled" });
    await stage.untilGone(Secret, "off-no-url-operator-token");
    expect(await keysOf(coderd)).toEqual([]);
  });

  test("with nothing to revoke it by, the Secret is removed and an event names what is left", async () => {
    const { deployment } = await withOwnToken("off-blind");
    deployment.faults.inject({ fault: { kind: "cut" }, on: /^DELETE/ });
    await stage.change("off-blind", { ...off, extraEnv: [] });
    await stage.untilCondition("off-blind", TYPE, { reason: "Disabled" });
    await stage.untilGone(Secret, "off-blind-operator-token");
    await stage.eventually(async () =>
      expect(
        await (async () =>
          (await stage.events("off-blind")).find(({ reason }) => reason === "TokenNotRevoked"))(),
      ).toMatchObject({ type: "Warning", message: expect.stringContaining("could not be revoked") }),
    );
  });

  test("from the start, the database is never asked", async () => {
    const coderd = await stage.coderd("never");
    const { connections } = stage.databases;
    await stage.serve("never", coderd, off);
    await stage.untilCondition("never", TYPE, { status: "False", reason: "Disabled" });
    expect(stage.databases.connections).toBe(connections);
  });
});

test("a token that coderd refuses although the database has it is TokenRejected: it may be another database", async () => {
  const [coderd, other] = [await stage.coderd("misled"), await stage.coderd("somewhere-else")];
  await stage.serve("misled", other);
  const { message } = await stage.untilCondition("misled", TYPE, {
    status: "False",
    reason: "TokenRejected",
  });
  expect(message).toContain("Check that CODER_PG_CONNECTION_URL points to the database that coderd uses.");
  const { connections } = stage.databases;
  await stage.touch("misled", "again");
  expect(stage.databases.connections).toBe(connections);
  await stage.change("misled", { extraEnv: [urlVariable(coderd.database.url)] });
  await stage.untilReady("misled");
});
