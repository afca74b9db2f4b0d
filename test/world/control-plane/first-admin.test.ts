import { Ingress, Secret, Service } from "kube-controller-runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { Fault } from "../../../lab/coderd/faults.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const TYPE = "FirstAdminReady";
const SECRET = "coder-first-admin";
const LOOK = "GET /api/v2/users/first";
const CREATE = "POST /api/v2/users/first";
const LOGIN = "POST /api/v2/users/login";
const firstAdmin = { email: "admin@example.com", username: "admin", name: "The Admin" };
const given = { ...firstAdmin, passwordSecretRef: { name: "mine" } };
const expose = { ingress: { host: "coder.example.com" } };
const STRONG = "a-Strong-enough-1-password";
const MINUTE_MS = 60_000;

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("first-admin");
});
afterEach(async () => {
  // No generated password may show anywhere either.
  stage.secrets.add((await stage.secretValue(SECRET, "password")) ?? "");
  await stage[Symbol.asyncDispose]();
});

const empty = () => stage.addCoderd("coder", { isEmpty: true });
const serve = (spec: object = {}, coderd = empty()) =>
  stage.serve("coder", { firstAdmin, ...spec }, { coderd });
const until = (reason: string, status: "True" | "False" = "True") =>
  stage.untilCondition("coder", TYPE, { status, reason });
const logsIn = ({ people }: CoderdDeployment, password = "") =>
  people.logIn(firstAdmin.email, password, "") !== undefined;
const warnings = async () =>
  (await stage.events("coder")).filter(({ reason }) => reason === "FirstAdminDiffers");

describe("an empty coderd", () => {
  test("gets one first admin, who logs in with the generated password", async () => {
    const coderd = await serve();
    const { message } = await until("Created");
    expect(message).toBe(
      `The operator created user "admin" with the initial password from Secret "${SECRET}". Change it after the first login, then delete the Secret.`,
    );
    expect(coderd.people.all).toMatchObject([{ ...firstAdmin, owner: true }]);
    expect(logsIn(coderd, await stage.secretValue(SECRET, "password"))).toBe(true);
    expect(coderd.count(CREATE)).toBe(1);
    expect(coderd.count(LOGIN)).toBe(0);
    expect((await stage.status("coder")).firstAdmin).toEqual({
      email: "admin@example.com",
      username: "admin",
      state: "Created",
      passwordSecretRef: { name: SECRET, key: "password" },
    });
  });

  test("gets it without operator access", async () => {
    const coderd = await serve({ operatorAccess: { disabled: true } });
    await until("Created");
    expect(coderd.people.all).toHaveLength(1);
    expect(stage.tokens.issued).toBe(0);
  });

  test("gets the given password as soon as its Secret exists", async () => {
    const coderd = await serve({ firstAdmin: { ...given, passwordSecretRef: { name: "mine", key: "pw" } } });
    const { message } = await until("SecretMissing", "False");
    expect(message).toBe(
      'Secret "mine" does not exist or has nothing under key "pw"; put the password of the first admin there.',
    );
    await stage.putSecret("mine", { pw: `${STRONG}\n` });
    await until("Created");
    expect(logsIn(coderd, STRONG)).toBe(true);
    expect(await stage.exists(Secret, SECRET)).toBe(false);
  });

  test("gets the password that our Secret holds already, and one where our Secret is empty", async () => {
    for (const [name, data] of [
      ["kept", { password: STRONG }],
      ["emptied", { password: "" }],
    ] as const) {
      await stage.create(name, { firstAdmin, operatorAccess: { disabled: true } });
      await stage.untilCondition(name, TYPE, { status: "False", reason: "Pending" });
      const { metadata } = await stage.get(CoderControlPlane, name);
      const secret = await stage.putSecret(`${name}-first-admin`, data);
      const { apiVersion, kind } = CoderControlPlane;
      const controller = { apiVersion, kind, name, uid: metadata.uid, controller: true };
      await stage.person.mergePatch(Secret, stage.ref(secret.metadata.name), {
        metadata: { ownerReferences: [controller] },
      });
      const coderd = stage.addCoderd(name, { isEmpty: true });
      await stage.markReady(name);
      await stage.untilCondition(name, TYPE, { status: "True", reason: "Created" });
      const password = await stage.secretValue(`${name}-first-admin`, "password");
      stage.secrets.add(password ?? "");
      expect(logsIn(coderd, password)).toBe(true);
      if (data.password) expect(password).toBe(data.password);
    }
  });

  test("gets no user from a control plane without firstAdmin, which has no condition of it", async () => {
    const coderd = await serve({ firstAdmin: undefined, expose });
    await stage.untilCondition("coder", "OperatorAccessReady", { status: "True" });
    await stage.untilCondition("coder", "ExposureReady", { status: "True", reason: "Applied" });
    expect(coderd.count(/users\/first/)).toBe(0);
    const { conditions = [], firstAdmin: recorded } = await stage.status("coder");
    expect(conditions.filter(({ type }) => type === TYPE)).toEqual([]);
    expect(recorded).toBeUndefined();
  });
});

describe("what coderd refuses", () => {
  test("a weak password is named without quoting it, and a stronger one is tried at once", async () => {
    const coderd = await serve({ firstAdmin: given });
    await stage.putSecret("mine", { password: "weakweak1" });
    const { message } = await until("PasswordRejected", "False");
    expect(message).toContain(
      'coderd rejects the password in Secret "mine", key "password"; put a stronger one there.',
    );
    expect(message).toContain("insecure password, try");
    expect((await stage.status("coder")).firstAdmin).toBeUndefined();
    await stage.putSecret("mine", { password: STRONG });
    await until("Created");
    expect(logsIn(coderd, STRONG)).toBe(true);
  });

  const answer = (status: number, body: object): Fault => ({ kind: "answer", status, body });
  const rejected = { message: "Validation failed.", validations: [{ field: "email", detail: "no" }] };
  test.each<[reason: string, fault: Fault]>([
    ["Rejected", answer(400, rejected)],
    ["CreationFailed", answer(500, { message: "Internal error creating user." })],
    ["CreationFailed", { kind: "html" }],
    ["CoderdUnreachable", { kind: "cut" }],
    ["RateLimited", { kind: "rateLimited", retryAfter: "20" }],
    ["NotSupported", answer(404, { message: "Route not found." })],
  ])("is %s until the next attempt succeeds", async (reason, fault) => {
    const coderd = empty();
    coderd.faults.inject({ fault, on: CREATE, times: 1 });
    await serve({}, coderd);
    await until(reason, "False");
    await stage.touch("coder", "no sooner");
    expect(coderd.count(CREATE)).toBe(1);
    await stage.timePasses(10 * MINUTE_MS);
    await until("Created");
    expect(coderd.people.all).toHaveLength(1);
  });
});

describe("a coderd that has users", () => {
  const person = (more: object = {}) => ({ email: "admin@example.com", username: "admin", ...more });

  test.each<[what: string, people: ReturnType<typeof person>[], says: string, warns: boolean]>([
    [
      "the wanted one",
      [person({ email: "ADMIN@example.com" })],
      'so the operator did not create user "admin"',
      false,
    ],
    [
      "one with another address",
      [person({ email: "x@example.com" })],
      'and "admin" has another email address',
      true,
    ],
    ["one without the role", [person({ owner: false })], 'and "admin" lacks the role owner', true],
    ["another one", [person({ username: "root" })], 'none is named "admin"', true],
  ])("is left alone with %s", async (_what, people, says, warns) => {
    const coderd = empty();
    for (const each of people) coderd.people.add(each);
    await serve({}, coderd);
    await stage.eventually(async () => {
      expect((await until("UsersExist")).message).toContain(says);
    });
    expect(await warnings()).toHaveLength(warns ? 1 : 0);
    expect(coderd.people.all).toHaveLength(1);
    expect(coderd.count(CREATE) + coderd.count(LOGIN)).toBe(0);
    expect(await stage.exists(Secret, SECRET)).toBe(false);
    await stage.restart();
    await stage.touch("coder", "again");
    await stage.untilIdle();
    expect(await warnings()).toHaveLength(warns ? 1 : 0);
  });

  test("a user that appears between the look and the creation is left alone", async () => {
    const coderd = empty();
    const unseen: Fault = { kind: "answer", status: 404, body: { message: "none yet" } };
    coderd.faults.inject({ fault: unseen, on: LOOK, times: 1 });
    coderd.people.add(person({ username: "first" }));
    await serve({}, coderd);
    await until("UsersExist");
    expect(coderd.people.all).toMatchObject([{ username: "first" }]);
    expect(coderd.count(CREATE)).toBe(1);
  });

  test("is not asked again before ten minutes have passed, and nothing is written", async () => {
    const coderd = await serve();
    await until("Created");
    await stage.untilCondition("coder", "Ready", { status: "True" });
    await stage.untilIdle();
    const looks = coderd.count(LOOK);
    const before = await stage.status("coder");
    await stage.touch("coder", "nothing new");
    await stage.timePasses(9 * MINUTE_MS);
    await stage.touch("coder", "still nothing new");
    expect(coderd.count(LOOK)).toBe(looks);
    await stage.timePasses(MINUTE_MS);
    await stage.eventually(() => expect(coderd.count(LOOK)).toBe(looks + 1));
    expect((await stage.status("coder")).firstAdmin).toEqual(before.firstAdmin);
    expect(coderd.count(CREATE)).toBe(1);
  });
});

describe("afterwards", () => {
  test("the Secret may be deleted, and nothing makes it again", async () => {
    const coderd = await serve();
    const { message } = await until("Created");
    stage.secrets.add((await stage.secretValue(SECRET, "password")) ?? "");
    await stage.delete(Secret, SECRET);
    await stage.restart();
    await stage.touch("coder", "look");
    await stage.timePasses(10 * MINUTE_MS);
    await stage.eventually(() => expect(coderd.count(LOOK)).toBeGreaterThan(2));
    expect(await stage.exists(Secret, SECRET)).toBe(false);
    expect((await until("Created")).message).toBe(message);
    expect(coderd.people.all).toHaveLength(1);
  });

  test("the operator's token comes and goes without the Secret of the password", async () => {
    await serve();
    await until("Created");
    await stage.untilCondition("coder", "OperatorAccessReady", { status: "True" });
    const password = await stage.secretValue(SECRET, "password");
    await stage.change("coder", { operatorAccess: { generatedTokenSecretName: "renamed" } });
    await stage.untilGone(Secret, "coder-operator-token");
    await stage.change("coder", { operatorAccess: { generatedTokenSecretName: null, disabled: true } });
    await stage.untilGone(Secret, "renamed");
    expect(await stage.secretValue(SECRET, "password")).toBe(password);
  });

  test("a database that is new again gets the same admin again", async () => {
    const coderd = await serve({ expose });
    await until("Created");
    await stage.eventually(() => stage.get(Ingress, "coder"));
    coderd.people.clear();
    await stage.timePasses(10 * MINUTE_MS);
    await stage.eventually(() => expect(coderd.people.all).toHaveLength(1));
    await until("Created");
    expect(logsIn(coderd, await stage.secretValue(SECRET, "password"))).toBe(true);
    expect(await stage.exists(Ingress, "coder")).toBe(true);
  });

  test("another user in the spec changes no user", async () => {
    const coderd = await serve();
    await until("Created");
    await stage.change("coder", { firstAdmin: { email: "other@example.com", username: "other" } });
    await stage.eventually(async () => {
      expect((await until("UsersExist")).message).toContain('none is named "other"');
    });
    expect(coderd.people.all).toMatchObject([{ username: "admin" }]);
  });
});

test("a Secret of another owner is a conflict, and no pod starts", async () => {
  const before = await stage.putSecret(SECRET, { password: "of-another-owner" });
  await stage.create("coder", { firstAdmin });
  await stage.untilCondition("coder", "Conflict", { status: "True", reason: "SecretNotOurs" });
  await until("SecretNotOurs", "False");
  await stage.untilCondition("coder", "DeploymentReady", { status: "False", reason: "NamesTaken" });
  expect(await stage.get(Secret, SECRET)).toEqual(before);
});

describe("exposure", () => {
  test("is created as soon as the first admin exists", async () => {
    const coderd = empty();
    coderd.faults.inject({ fault: { kind: "html" }, on: LOOK });
    await serve({ expose, service: { type: "LoadBalancer", httpNodePort: 30080 } }, coderd);
    const waiting = { status: "False", reason: "WaitingForFirstAdmin" } as const;
    const { message } = await stage.untilCondition("coder", "ExposureReady", waiting);
    expect(message).toBe("The Ingress waits until condition FirstAdminReady is True.");
    await stage.untilCondition("coder", "ServiceReady", waiting);
    await until("CoderdUnreachable", "False");
    expect(await stage.exists(Ingress, "coder")).toBe(false);
    expect((await stage.get(Service, "coder")).spec).toMatchObject({ type: "ClusterIP" });
    coderd.faults.clear();
    await stage.timePasses(MINUTE_MS);
    await until("Created");
    await stage.untilCondition("coder", "ExposureReady", { status: "True", reason: "Applied" });
    expect(await stage.exists(Ingress, "coder")).toBe(true);
    expect((await stage.get(Service, "coder")).spec).toMatchObject({ type: "LoadBalancer" });
  });

  test("that exists is kept and maintained while firstAdmin waits", async () => {
    await serve({ firstAdmin: undefined, expose, service: { type: "NodePort" } });
    await stage.untilCondition("coder", "ExposureReady", { status: "True", reason: "Applied" });
    await stage.change("coder", { firstAdmin: given, expose: { ingress: { host: "new.example.com" } } });
    await until("SecretMissing", "False");
    await stage.eventually(async () => {
      expect((await stage.get(Ingress, "coder")).spec?.rules?.[0]?.host).toBe("new.example.com");
    });
    expect((await stage.get(Service, "coder")).spec).toMatchObject({ type: "NodePort" });
    await stage.untilCondition("coder", "ServiceReady", { status: "True" });
  });

  test("stays when the first admin leaves the spec and comes back", async () => {
    await serve({ expose });
    await until("Created");
    await stage.eventually(() => stage.get(Ingress, "coder"));
    await stage.change("coder", { firstAdmin: null });
    await stage.untilStatus("coder", { observedGeneration: 2 });
    expect((await stage.status("coder")).firstAdmin).toBeUndefined();
    await stage.change("coder", { firstAdmin });
    await until("UsersExist");
    expect(await stage.exists(Ingress, "coder")).toBe(true);
  });
});
