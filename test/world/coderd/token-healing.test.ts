import { Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { acceptedAs, type Misbehavior } from "../../../lab/coderd-database/database.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, type CoderdStage, openCoderdStage, urlVariable } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const DAY_MS = 24 * 60 * 60_000;
const OPERATOR = "coder-k8s-operator (owner)";
const EXPIRY = "coder.com/token-expires-at";

interface Served extends Coderd {
  readonly name: string;
  readonly secretName: string;
  readonly token: string;
}

/** For one test, so that time passes only for its control plane. */
async function serve(name: string): Promise<Served> {
  const coderd = await stage.coderd(name);
  onTestFinished(async () => void (await stage.person.delete(CoderControlPlane, stage.ref(name))));
  await stage.serve(name, coderd);
  await stage.untilStatus(name, { licenseTier: "none" });
  const secretName = `${name}-operator-token`;
  return { ...coderd, name, secretName, token: await stage.token(secretName) };
}

/** Waits until coderd accepts what the Secret holds and no other token is left. */
function untilHealed({ database, secretName }: Served): Promise<string> {
  return stage.eventually(async () => {
    const token = await stage.token(secretName);
    expect(await acceptedAs(database, token, stage.clock.now())).toBe(OPERATOR);
    const keys = await database.keys();
    expect(keys).toMatchObject([{ id: token.split("-")[0] }]);
    return token;
  });
}

async function expiryOf({ secretName }: Served): Promise<number> {
  return Date.parse((await stage.get(Secret, secretName)).metadata.annotations?.[EXPIRY] ?? "");
}

describe("a change of the token in the database is noticed at its next check, within ten minutes", () => {
  test.each<[string, Misbehavior]>([
    ["revoked", "keys deleted"],
    ["wrong-hash", "keys given another hash"],
    ["expired", "keys expired"],
    ["user-gone", "user deleted"],
  ])("%s: replaced", async (name, misdeed) => {
    const served = await serve(name);
    await served.database.suffer(misdeed);
    await stage.timePasses(10 * 60_000);
    await stage.eventually(async () => expect(await stage.token(served.secretName)).not.toBe(served.token));
    await untilHealed(served);
    await stage.untilReady(name);
  });

  test.each<[string, Misbehavior]>([
    ["no-owner", "user without a role"],
    ["suspended", "user suspended"],
  ])("%s: the user is repaired and the token kept", async (name, misdeed) => {
    const served = await serve(name);
    await served.database.suffer(misdeed);
    await stage.timePasses(10 * 60_000);
    expect(await untilHealed(served)).toBe(served.token);
    await stage.untilReady(name);
  });
});

describe("a change of the Secret is noticed at once", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  test.each<[string, (secretName: string) => Promise<unknown>]>([
    ["deleted", (name) => stage.person.delete(Secret, stage.ref(name))],
    [
      "tampered",
      (name) => stage.person.mergePatch(Secret, stage.ref(name), { data: { token: base64("0123456789-x") } }),
    ],
    ["emptied", (name) => stage.person.mergePatch(Secret, stage.ref(name), { data: null })],
  ])("%s", async (name, spoil) => {
    const served = await serve(name);
    await spoil(served.secretName);
    await stage.eventually(async () =>
      expect(await stage.token(served.secretName)).toMatch(/^\w{10}-\w{22}$/),
    );
    await untilHealed(served);
    await stage.untilReady(name);
  });

  test("made by an earlier release, without a note of the token's end: kept and noted", async () => {
    const served = await serve("unnoted");
    const annotations = { [EXPIRY]: null };
    await stage.person.mergePatch(Secret, stage.ref(served.secretName), { metadata: { annotations } });
    await stage.eventually(async () => expect(await expiryOf(served)).toBeGreaterThan(stage.clock.now()));
    expect(await untilHealed(served)).toBe(served.token);
  });
});

describe("the annotation coder.com/rotate-at", () => {
  const request = (name: string, at: string) =>
    stage.person.mergePatch(CoderControlPlane, stage.ref(name), {
      metadata: { annotations: { "coder.com/rotate-at": at } },
    });

  test("has the token replaced and the old one ended, once for each value", async () => {
    const served = await serve("asked");
    const seen = [served.token];
    for (const at of ["one", "two"]) {
      await request("asked", at);
      await stage.eventually(async () => expect(seen).not.toContain(await stage.token(served.secretName)));
      seen.push(await untilHealed(served));
    }
    await stage.timePasses(11 * 60_000);
    expect(await untilHealed(served)).toBe(seen[2]);
    await stage.eventually(async () => expect(await expiryOf(served)).toBeGreaterThan(stage.clock.now()));
    const issued = (await stage.events("asked")).filter(({ reason }) => reason === "TokenIssued");
    expect(issued.at(0)?.message).toContain("A new token was requested");
  });

  test("has the token replaced once, however long its value is", async () => {
    const served = await serve("asked-at-length");
    await request("asked-at-length", "x".repeat(100_000));
    await stage.eventually(async () => expect(await stage.token(served.secretName)).not.toBe(served.token));
    const replaced = await untilHealed(served);
    await stage.timePasses(11 * 60_000);
    expect(await untilHealed(served)).toBe(replaced);
  });

  test("leaves the token in use while the database can't be reached, and is honored later", async () => {
    const served = await serve("asked-in-vain");
    const url = urlVariable("postgres://operator:some-password@127.0.0.1:1/nowhere");
    await stage.change("asked-in-vain", { extraEnv: [url] });
    await request("asked-in-vain", "one");
    await stage.untilCondition("asked-in-vain", "OperatorAccessReady", {
      status: "True",
      reason: "RenewalFailed",
    });
    expect(await stage.token(served.secretName)).toBe(served.token);
  });
});

describe("a month before its end", () => {
  test("a token is replaced, and what the Secret holds is valid at every moment", async () => {
    const served = await serve("expiring");
    const seen = new Set<string>();
    const invalid: string[] = [];
    await stage.timePasses(336 * DAY_MS);
    await stage.eventually(async () => {
      const token = await stage.token(served.secretName);
      const accepted = await acceptedAs(served.database, token, stage.clock.now());
      if (accepted !== OPERATOR && token === (await stage.token(served.secretName))) invalid.push(token);
      seen.add(token);
      expect(token).not.toBe(served.token);
    });
    const renewed = await untilHealed(served);
    expect([...seen]).toContain(renewed);
    expect(invalid).toEqual([]);
    // The note of its end comes last.
    const nextYear = stage.clock.now() + 360 * DAY_MS;
    await stage.eventually(async () => expect(await expiryOf(served)).toBeGreaterThan(nextYear));
  });

  test("one that coderd has extended, as it does on use, is kept", async () => {
    const served = await serve("extended");
    const { connections } = stage.databases;
    await served.database.suffer("keys extended by 200 days");
    await stage.timePasses(336 * DAY_MS);
    await stage.eventually(async () =>
      expect(await expiryOf(served)).toBeGreaterThan(stage.clock.now() + 200 * DAY_MS),
    );
    expect(await untilHealed(served)).toBe(served.token);
    expect(stage.databases.connections).toBeGreaterThan(connections);
  });

  test("one that can't be replaced is used on, and the condition and one event say until when", async () => {
    const served = await serve("stranded");
    await stage.change("stranded", {
      extraEnv: [urlVariable("postgres://operator:some-password@127.0.0.1:1/nowhere")],
    });
    await stage.settled("stranded");
    await stage.timePasses(336 * DAY_MS);
    const failing = { status: "True", reason: "RenewalFailed" } as const;
    const { message } = await stage.untilCondition("stranded", "OperatorAccessReady", failing);
    expect(message).toMatch(/works until \d{4}-\d\d-\d\dT.*refuses the connection/);
    for (let retry = 0; retry < 3; retry++) await stage.timePasses(30_000);
    await stage.untilStatus("stranded", { operatorAccessReady: true });
    expect(await stage.token(served.secretName)).toBe(served.token);
    const warnings = (await stage.events("stranded")).filter(
      ({ type, source }) => type === "Warning" && source?.component === "coder-k8s",
    );
    expect(warnings).toEqual([expect.objectContaining({ reason: "RenewalFailed", count: 1 })]);

    await stage.change("stranded", { extraEnv: [urlVariable(served.database.url)] });
    await stage.untilReady("stranded");
    expect(await untilHealed(served)).not.toBe(served.token);
  });
});

describe("in steady state", () => {
  test("no database is connected to, by many runs or by a restart", async () => {
    const served = await serve("steady");
    await stage.untilCondition("steady", "Healthy", { status: "True" });
    const { connections } = stage.databases;
    const calls = served.deployment.count();
    for (let run = 0; run < 10; run++) await stage.touch("steady", String(run));
    expect(served.deployment.count()).toBe(calls);
    await stage.restart();
    await stage.eventually(() => expect(served.deployment.count("GET /api/v2/users/me")).toBe(2));
    await stage.touch("steady", "after the restart");
    expect(served.deployment.count("GET /api/v2/organizations")).toBe(2);
    expect(served.deployment.count("GET /api/v2/debug/health")).toBe(2);
    expect(served.deployment.count()).toBe(calls + 3);
    expect(stage.databases.connections).toBe(connections);
  });
});
