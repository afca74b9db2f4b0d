import { Ingress } from "kube-controller-runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import { everyCoder } from "./support/binaries.ts";
import { Tenant } from "./support/tenant.ts";
import { World } from "./support/world.ts";

const binaries = await everyCoder();
const TYPE = { type: "FirstAdminReady" };
const firstAdmin = { email: "owner@example.com", username: "the-owner", name: "The Owner" };
const expose = { ingress: { host: "coder.example.com" } };
const created = { status: "True", reason: "Created" } as const;

/** Logs in by HTTP, as a browser does, and returns the roles. */
async function rolesOf(tenant: Tenant, password: string): Promise<string[]> {
  const url = await tenant.coderdURL();
  const login = await fetch(`${url}/api/v2/users/login`, {
    method: "POST",
    body: JSON.stringify({ email: firstAdmin.email, password }),
  });
  expect(login.status).toBe(201);
  const { session_token: token } = (await login.json()) as { session_token: string };
  tenant.world.secrets.add(token);
  const headers = { "Coder-Session-Token": token };
  const me = await fetch(`${url}/api/v2/users/${firstAdmin.username}`, { headers });
  const { roles, ...user } = (await me.json()) as { roles: { name: string }[] };
  expect(user).toMatchObject(firstAdmin);
  return roles.map(({ name }) => name);
}

describe.skipIf(!binaries).each([
  ["2.36.1", "coder"],
  ["2.26.0", "coder-old"],
] as const)("the first admin of a real coderd %s", (_version, program) => {
  let world: World;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    world = owned.use(await World.open({ ...binaries, coder: binaries[program] }));
    await world.startOperator();
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  const asked = (method: string, path: string) =>
    world.gateway.exchanges.filter((exchange) => exchange.method === method && exchange.path === path);
  const expectNoLeak = () => expect(world.leaks()).toEqual([]);

  test("logs in as an owner with the generated password, and only then coderd is exposed", async () => {
    const tenant = await Tenant.move(world, "generated", { firstAdmin, expose });
    const { items } = await world.person.list(Ingress, { namespace: tenant.namespace });
    expect(items).toEqual([]);
    await tenant.untilCondition(CoderControlPlane, TYPE, created);
    const password = await tenant.secretValue("coder-first-admin", "password");
    expect(await rolesOf(tenant, password)).toEqual(["owner"]);
    await tenant.untilCondition(CoderControlPlane, { type: "ExposureReady" }, { status: "True" });
    expect((await tenant.get(Ingress, "coder")).spec?.rules?.[0]?.host).toBe(expose.ingress.host);
    expect(asked("POST", "/api/v2/users/first")).toMatchObject([{ status: 201 }]);
    expectNoLeak();
  });

  test("is created without operator access, once the given password is strong enough", async () => {
    const spec = {
      operatorAccess: { disabled: true },
      firstAdmin: { ...firstAdmin, passwordSecretRef: { name: "mine" } },
    };
    const tenant = await Tenant.move(world, "given", spec);
    await tenant.putSecret("mine", { password: "weakweak1" });
    const refused = { status: "False", reason: "PasswordRejected" } as const;
    const { message } = await tenant.untilCondition(CoderControlPlane, TYPE, refused);
    expect(message).toContain("insecure password, try");
    await tenant.putSecret("mine", { password: "a-Strong-enough-1-password" });
    await tenant.untilCondition(CoderControlPlane, TYPE, created);
    expect(await rolesOf(tenant, "a-Strong-enough-1-password")).toEqual(["owner"]);
    expectNoLeak();
  });

  test("is identified by the password when the answer to its creation was lost", async () => {
    const tenant = await Tenant.move(world, "lost", { firstAdmin });
    world.gateway.loseNextAnswer("POST", "/api/v2/users/first");
    const lost = { status: "False", reason: "CoderdUnreachable" } as const;
    await tenant.untilCondition(CoderControlPlane, TYPE, lost);
    await world.timePasses(60_000);
    await tenant.untilCondition(CoderControlPlane, TYPE, created);
    const password = await tenant.secretValue("coder-first-admin", "password");
    expect(await rolesOf(tenant, password)).toEqual(["owner"]);
    expectNoLeak();
  });

  test("is not created where coderd has users, and a difference is named", async () => {
    const tenant = await Tenant.move(world, "users");
    owned.use(await tenant.signUp());
    await tenant.untilControlPlane({ operatorAccessReady: true });
    const before = asked("POST", "/api/v2/users/first").length;
    await tenant.change(CoderControlPlane, "coder", { firstAdmin });
    const existing = { status: "True", reason: "UsersExist" } as const;
    const { message } = await tenant.untilCondition(CoderControlPlane, TYPE, existing);
    expect(message).toContain('but none is named "the-owner"');
    await tenant.change(CoderControlPlane, "coder", {
      firstAdmin: { email: "admin@example.com", username: "Admin", name: null },
    });
    const same = await tenant.untilCondition(CoderControlPlane, TYPE, existing);
    expect(same.message).toBe('coderd has users, so the operator did not create user "Admin".');
    expect(asked("POST", "/api/v2/users/first")).toHaveLength(before);
    expectNoLeak();
  });
});
