import { Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CoderdDatabase } from "../../../lab/coderd-database/database.ts";
import { coded, type MemoryDatabase } from "../../../lab/coderd-database/memory.ts";
import { DatabaseProblem } from "../../../src/coder/operator-access/failure.ts";
import { type CoderdStage, openCoderdStage, urlVariable } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const TYPE = "OperatorAccessReady";
const fromSecret = (name: string, key = "url") => ({
  extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef: { name, key } } }],
  operatorAccess: {},
});

describe("a wrong connection URL has its own reason, and the right one is used as soon as the Secret has it", () => {
  const wrong: { reason: string; url: (database: CoderdDatabase) => string }[] = [
    {
      reason: "InvalidConnectionURL",
      url: ({ url }) => url.replace("postgres:", "mysql:"),
    },
    {
      reason: "DatabaseUnreachable",
      url: ({ url }) => url.replace(/:\d+\//, ":1/"),
    },
    {
      reason: "DatabaseAuthenticationFailed",
      url: ({ url }) => url.replace(/:[^:@]+@/, ":wrong-password@"),
    },
    {
      reason: "DatabaseMissing",
      url: ({ url }) => url.replace(/\/[^/]+$/, "/nowhere"),
    },
    {
      reason: "DatabaseTLSFailed",
      url: ({ url }) => `${url}?sslmode=require`,
    },
  ];

  test.each(wrong)("$reason", async ({ reason, url }) => {
    const name = reason.toLowerCase();
    const { database } = await stage.coderd(name);
    await stage.putSecret(`${name}-db`, { url: url(database) });
    await stage.create(name, fromSecret(`${name}-db`));
    await stage.untilServing(name);
    await stage.untilCondition(name, TYPE, { status: "False", reason });
    const { status } = await stage.controlPlane(name);
    expect(status).toMatchObject({ operatorAccessReady: false });
    expect(status?.operatorTokenSecretRef).toBeUndefined();

    await stage.putSecret(`${name}-db`, { url: database.url });
    await stage.untilReady(name);
    await stage.untilStatus(name, {
      operatorAccessReady: true,
      operatorTokenSecretRef: { name: `${name}-operator-token`, key: "token" },
    });
    const events = (await stage.events(name)).map((event) => [event.type, event.reason]);
    expect(events).toContainEqual(["Warning", reason]);
    expect(events).toContainEqual(["Normal", "TokenReady"]);
  });
});

describe("an unusable database has its own reason, and is tried again every 30 s", () => {
  const failWith = (error: Error) => async (database: MemoryDatabase) => {
    database.failure = error;
  };
  const failure = (...problem: ConstructorParameters<typeof DatabaseProblem>) =>
    failWith(new DatabaseProblem(...problem));
  const broken: { reason: string; break: (database: MemoryDatabase) => Promise<void> }[] = [
    {
      reason: "SchemaUnsupported",
      break: failure("schemaUnsupported", "A column is unknown."),
    },
    {
      reason: "NotMigrated",
      break: failure("schemaMissing", "A table is missing."),
    },
    {
      reason: "AccountTaken",
      break: (database) => database.suffer("name taken by a person"),
    },
    { reason: "DatabaseError", break: failWith(coded("25006")) },
    { reason: "DatabaseTimeout", break: failWith(coded("57014")) },
    {
      reason: "DatabasePermissionDenied",
      break: failWith(coded("42501", "permission denied for table users")),
    },
  ];

  test.each(broken)("$reason", async ({ reason, break: harm }) => {
    const name = reason.toLowerCase();
    const coderd = await stage.coderd(name);
    await harm(coderd.database);
    await stage.serve(name, coderd);
    await stage.untilCondition(name, TYPE, { status: "False", reason });
    coderd.database.failure = undefined;
    await coderd.database.suffer("name freed by that person");
    await stage.timePasses(30_000);
    await stage.untilReady(name);
  });

  test("tables that coderd has not created yet cause no warning before a pod is ready, and one after that", async () => {
    const coderd = await stage.coderd("first");
    coderd.database.failure = new DatabaseProblem("schemaMissing", "A table is missing.");
    await stage.create("first", { extraEnv: [urlVariable(coderd.database.url)], operatorAccess: {} });
    await stage.untilCondition("first", TYPE, { status: "False", reason: "NotMigrated" });
    const warnings = async () =>
      (await stage.events("first")).filter(({ type }) => type === "Warning").map((event) => event.message);
    expect(await warnings()).toEqual([]);
    await stage.untilServing("first");
    await stage.eventually(async () =>
      expect(await warnings()).toEqual([
        `A table is missing. A coderd pod is ready, so the connection URL points to a different database or schema than the pods use; correct it.`,
      ]),
    );
    coderd.database.failure = undefined;
    await stage.timePasses(30_000);
    await stage.untilReady("first");
  });

  test("a healthy first start emits no warning", async () => {
    const coderd = await stage.coderd("healthy");
    coderd.database.failure = new DatabaseProblem("schemaMissing", "A table is missing.");
    await stage.create("healthy", { extraEnv: [urlVariable(coderd.database.url)], operatorAccess: {} });
    await stage.untilCondition("healthy", TYPE, { status: "False", reason: "NotMigrated" });
    coderd.database.failure = undefined;
    await stage.untilServing("healthy");
    await stage.timePasses(30_000);
    await stage.untilReady("healthy");
    const events = await stage.events("healthy");
    expect(events.length).toBeGreaterThan(0);
    expect(events.filter(({ type }) => type === "Warning")).toEqual([]);
  });

  test("and not sooner, however often the control plane is looked at", async () => {
    const coderd = await stage.coderd("waiting");
    await stage.create("waiting", {
      extraEnv: [urlVariable(coderd.database.url.replace(/:\d+\//, ":1/"))],
      operatorAccess: {},
    });
    await stage.untilServing("waiting");
    await stage.untilCondition("waiting", TYPE, { reason: "DatabaseUnreachable" });
    await stage.untilStatus("waiting", { phase: "Ready" });
    const { connections } = stage.databases;
    for (const look of ["1", "2", "3"]) {
      await stage.touch("waiting", look);
      await stage.timePasses(9_000);
    }
    expect(stage.databases.connections).toBe(connections);
    await stage.timePasses(9_000);
    await stage.eventually(() => expect(stage.databases.connections).toBe(connections + 1));
  });
});

describe("without a connection URL", () => {
  test("NoConnectionURL says what to set, and setting it helps", async () => {
    const { database } = await stage.coderd("no-url");
    await stage.create("no-url", { operatorAccess: {} });
    await stage.untilServing("no-url");
    const { message } = await stage.untilCondition("no-url", TYPE, { reason: "NoConnectionURL" });
    expect(message).toContain("CODER_PG_CONNECTION_URL");
    expect(message).toContain("spec.operatorAccess.tokenSecretRef");
    await stage.change("no-url", { extraEnv: [urlVariable(database.url)] });
    await stage.untilReady("no-url");
  });

  test.each<[string, (url: string) => object]>([
    [
      "by its variable",
      (url) => ({ extraEnv: [urlVariable(url), { name: "CODER_PG_AUTH", value: "awsiamrds" }] }),
    ],
    ["by its flag", (url) => ({ extraEnv: [urlVariable(url)], extraArgs: ["--postgres-auth", "awsiamrds"] })],
  ])("DatabaseUsesCloudIdentity: a login by IAM, given %s, leaves the database alone", async (how, spec) => {
    const name = how.replaceAll(" ", "-");
    const { database } = await stage.coderd(name);
    await stage.create(name, { ...spec(database.url), operatorAccess: {} });
    await stage.untilServing(name);
    const { message } = await stage.untilCondition(name, TYPE, { reason: "DatabaseUsesCloudIdentity" });
    expect(message).toContain("provide a token with spec.operatorAccess.tokenSecretRef");
    await stage.timePasses(120_000);
    expect(await database.keys()).toEqual([]);
  });

  test("SecretMissing names the Secret and the key, and filling it in helps", async () => {
    const { database } = await stage.coderd("no-secret");
    await stage.create("no-secret", fromSecret("no-secret-db"));
    await stage.untilServing("no-secret");
    const missing = { status: "False", reason: "SecretMissing" } as const;
    expect((await stage.untilCondition("no-secret", TYPE, missing)).message).toContain(
      'Secret "no-secret-db" does not exist or has no key "url"',
    );
    await stage.putSecret("no-secret-db", { uri: database.url });
    await stage.putSecret("no-secret-db", { url: database.url });
    await stage.untilReady("no-secret");
    await stage.person.delete(Secret, stage.ref("no-secret-db"));
    await stage.touch("no-secret", "after the deletion");
    await stage.untilReady("no-secret");
  });
});

test("SecretNotOurs: the token's Secret is foreign, so neither it nor the database is changed", async () => {
  const coderd = await stage.coderd("rivalled");
  const rival = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    name: "rival",
    uid: "0-1-2-3",
    controller: true,
  };
  const metadata = { ...stage.ref("rivalled-operator-token"), ownerReferences: [rival] };
  const { metadata: before } = await stage.person.create(Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
  });
  const extraEnv = [urlVariable(coderd.database.url)];
  await stage.create("rivalled", { extraEnv, operatorAccess: {} });
  const { message } = await stage.untilCondition("rivalled", TYPE, {
    status: "False",
    reason: "SecretNotOurs",
  });
  expect(message).toContain('StatefulSet "rival"');
  expect(await coderd.database.keys()).toEqual([]);
  const { metadata: after } = await stage.get(Secret, "rivalled-operator-token");
  expect(after.resourceVersion).toBe(before.resourceVersion);
  await stage.person.delete(Secret, stage.ref("rivalled-operator-token"));
  await stage.touch("rivalled", "after the deletion");
  await stage.untilServing("rivalled");
  await stage.untilReady("rivalled");
});
