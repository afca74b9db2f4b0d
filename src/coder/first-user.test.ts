import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DeploymentOptions } from "../../lab/coderd/deployment.ts";
import { type CoderdServer, startCoderdServer } from "../../lab/coderd/server.ts";
import { CoderClients } from "./clients.ts";
import { newPassword } from "./first-user.ts";

const PASSWORD = "a-Long-enough-1-password";
const person = { email: "admin@example.com", username: "admin", name: "Admin", password: PASSWORD };
const login = { email: person.email, password: PASSWORD };

let clients: CoderClients;
let server: CoderdServer;

beforeEach(async () => {
  clients = new CoderClients({ clock: new VirtualClock(Date.now()), fence: unfenced });
  server = await startCoderdServer();
});
afterEach(async () => {
  await clients.close();
  await server.close();
});

function start(options: DeploymentOptions = {}) {
  const deployment = server.add({ isEmpty: true, ...options });
  return { deployment, client: clients.client({ url: server.url }) };
}

test("the first user is created once, and only if there are no users", async () => {
  const { client, deployment } = start();
  expect(await client.hasUsers()).toEqual({ ok: true, value: false });
  expect(await client.createFirstUser(person)).toMatchObject({ ok: true });
  expect(await client.hasUsers()).toEqual({ ok: true, value: true });
  expect(await client.createFirstUser(person)).toMatchObject({ ok: false, failure: { kind: "duplicate" } });
  expect(deployment.people.all).toMatchObject([person]);
});

describe("a password", () => {
  test("is checked by a session that ends at once", async () => {
    const { client, deployment } = start();
    await client.createFirstUser(person);
    expect(await client.acceptsPassword(login)).toEqual({ ok: true, value: true });
    expect(await client.acceptsPassword({ ...login, password: `${PASSWORD}x` })).toEqual({
      ok: true,
      value: false,
    });
    expect(deployment.calls.map(({ request }) => request).slice(1)).toEqual([
      "POST /api/v2/users/login",
      "POST /api/v2/users/logout",
      "POST /api/v2/users/login",
    ]);
  });

  test("is accepted if coderd reports only that password logins are disabled", async () => {
    const { client, deployment } = start();
    const body = { message: "Password authentication is disabled." };
    deployment.faults.inject({ fault: { kind: "answer", status: 403, body } });
    expect(await client.acceptsPassword(login)).toEqual({ ok: true, value: true });
  });

  test.each(["weak-1", `${PASSWORD}${PASSWORD}${PASSWORD}`])(
    "that coderd refuses is named by its field, and never quoted",
    async (password) => {
      const { client } = start();
      const made = await client.createFirstUser({ ...person, password });
      expect(made).toMatchObject({ ok: false, failure: { kind: "invalid", fields: ["password"] } });
      expect(JSON.stringify(made)).not.toContain(password);
    },
  );

  test("that an answer quotes is masked", async () => {
    const { client, deployment } = start();
    const body = { message: `no: ${PASSWORD}`, validations: [{ field: "name", detail: PASSWORD }] };
    for (const status of [400, 401, 403, 500]) {
      deployment.faults.inject({ fault: { kind: "answer", status, body }, times: 2 });
      const answers = [await client.createFirstUser(person), await client.acceptsPassword(login)];
      expect(JSON.stringify(answers)).not.toContain(PASSWORD);
    }
  });

  test("that the operator generates is accepted by coderd, and is never the same", async () => {
    const { client } = start();
    const passwords = Array.from({ length: 100 }, newPassword);
    expect(new Set(passwords).size).toBe(100);
    for (const password of passwords) expect(password).toMatch(/^[\w-]{32}$/);
    expect(await client.createFirstUser({ ...person, password: newPassword() })).toMatchObject({ ok: true });
  });
});

test.each(["v2.36.1", "v2.26.0"])(
  "a user that coderd %s does not have is absent, not a failure",
  async (version) => {
    const { client, deployment } = start({ version });
    await client.createFirstUser(person);
    const token = deployment.people.logIn(login.email, login.password, deployment.timestamp);
    const admin = clients.client({ url: server.url, token });
    expect(await admin.user("unknown")).toEqual({ ok: true, value: undefined });
    expect(await admin.user("Admin")).toMatchObject({
      ok: true,
      value: { email: person.email, roles: ["owner"] },
    });
  },
);
