import { Deployment, Secret } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { startOperatorProcess } from "../../lab/operator-process.ts";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { loadRecording, recordingNames } from "../contract/coderd-recordings.ts";
import type { CoderdAdmin } from "./support/coderd-admin.ts";
import { Tenant } from "./support/tenant.ts";
import { TIME_LIMIT, World } from "./support/world.ts";

const binaries = inject("coder");
const MINUTES = 60_000;
const TAGS = { region: "eu", os: "linux" };
const REPLICAS = 2;

describe.skipIf(!binaries)("with the real coderd and the real daemon", () => {
  let world: World;
  let tenant: Tenant;
  let admin: CoderdAdmin;
  let licenses: { A: string; B: string };
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    world = owned.use(await World.open(binaries));
    const [A, B] = await mint(binaries, "premium", "enterprise");
    licenses = { A, B };
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  describe("a control plane, a provisioner and a proxy that are applied together", () => {
    beforeAll(async () => {
      const flags = ["--leader-election-namespace=kube-system", `--coderd-access=${world.gateway.url}`];
      const operator = owned.use(await startOperatorProcess(world.cluster, flags));
      tenant = await Tenant.move(world, "healing", { licenseSecretRef: { name: "license" } });
      await tenant.putSecret("license", { license: licenses.A });
      await tenant.provision("linux", { tags: TAGS, replicas: REPLICAS });
      await tenant.proxy("sydney", { registration: { displayName: "Sydney" } });
      admin = owned.use(await tenant.signUp());
      return () => operator.stop("SIGTERM");
    });

    test("give the operator a token in coderd's database that coderd accepts", async () => {
      await tenant.untilControlPlane({
        phase: "Ready",
        operatorAccessReady: true,
        version: inject("coderVersion"),
      });
      const token = await tenant.secretValue("coder-operator-token", "token");
      const me = await fetch(`${admin.url}/api/v2/users/me`, { headers: { "Coder-Session-Token": token } });
      expect(await me.json()).toMatchObject({ username: "coder-k8s-operator", roles: [{ name: "owner" }] });
    });

    test("have their license uploaded, and its tier and entitlement in status", async () => {
      await tenant.untilControlPlane({
        licenseTier: "premium",
        externalProvisionerDaemonsEntitlement: "entitled",
      });
      await tenant.untilCondition(CoderControlPlane, { type: "LicenseApplied" }, { reason: "Applied" });
      expect(await admin.licenses()).toHaveLength(1);
    });

    test("have daemons that coderd lists as idle, with the tags and the key of the provisioner", async () => {
      const daemons = await tenant.untilDaemonsServe("linux", admin);
      expect(daemons.map(({ tags }) => tags)).toEqual(
        Array(REPLICAS).fill({ ...TAGS, owner: "", scope: "organization" }),
      );
      expect((await admin.keys()).map(({ name }) => name)).toEqual(["linux"]);
    });

    test("have a proxy that coderd reaches", async () => {
      await tenant.untilCondition(CoderWorkspaceProxy, { name: "sydney", type: "Ready" }, { status: "True" });
      expect(await admin.proxy("sydney")).toMatchObject({ healthy: true, display_name: "Sydney" });
    });
  });

  describe("what happens behind the operator's back", () => {
    beforeAll(async () => {
      await world.startOperator();
    });

    const keyInSecret = () => tenant.secretValue("linux-provisioner-key", "key");

    /** Lets something happen to the provisioner's key, and returns when daemons serve with another. */
    async function expectNewKey(happening: () => Promise<unknown>): Promise<void> {
      const before = (await tenant.get(CoderProvisioner, "linux")).status?.provisionerKeyID;
      const plaintext = await keyInSecret();
      await happening();
      await eventually(async () => {
        const { status } = await tenant.get(CoderProvisioner, "linux");
        expect(status?.provisionerKeyID).not.toBe(before);
      }, TIME_LIMIT);
      const [daemon] = await tenant.untilDaemonsServe("linux", admin);
      expect(await keyInSecret()).not.toBe(plaintext);
      expect((await admin.keys()).map(({ id }) => id)).toEqual([daemon?.key_id]);
    }

    test("an operator that takes over changes nothing", async () => {
      const [before] = await admin.keys();
      const daemons = await tenant.untilDaemonsServe("linux", admin);
      await world.timePasses(3 * MINUTES);
      expect(await tenant.untilDaemonsServe("linux", admin)).toEqual(
        daemons.map((daemon) => expect.objectContaining({ name: daemon.name, key_id: before?.id })),
      );
      expect(await admin.licenses()).toHaveLength(1);
    });

    test("tags that are changed reach the daemons by way of a new key", async () => {
      const tags = { ...TAGS, size: "large" };
      await expectNewKey(() => tenant.change(CoderProvisioner, "linux", { tags }));
      const [daemon] = await tenant.untilDaemonsServe("linux", admin);
      expect(daemon?.tags).toEqual({ ...tags, owner: "", scope: "organization" });
    });

    test("a deleted key is replaced", async () => {
      const [key] = await admin.keys();
      await expectNewKey(async () => {
        await admin.deleteKey(key?.name ?? "");
        await world.timePasses(2 * MINUTES);
      });
    });

    test("a key whose Secret is deleted is replaced", async () => {
      await expectNewKey(() => tenant.delete(Secret, "linux-provisioner-key"));
    });

    test("a license can be swapped for another and back", async () => {
      const applied = async () => {
        const { status } = await tenant.get(CoderControlPlane, "coder");
        return status?.licenseLastAppliedHash;
      };
      const first = await applied();
      await tenant.putSecret("license", { license: licenses.B });
      await eventually(async () => expect(await applied()).not.toBe(first), TIME_LIMIT);
      await eventually(async () => expect(await admin.licenses()).toHaveLength(2), TIME_LIMIT);
      await tenant.putSecret("license", { license: licenses.A });
      await eventually(async () => expect(await applied()).toBe(first), TIME_LIMIT);
      await tenant.untilCondition(CoderControlPlane, { type: "LicenseApplied" }, { reason: "Applied" });
      expect(await admin.licenses()).toHaveLength(2);
      await tenant.untilDaemonsServe("linux", admin);
    });

    test("licenses that are removed in coderd are uploaded again", async () => {
      for (const { id } of await admin.licenses()) await admin.delete(`/api/v2/licenses/${id}`);
      await world.timePasses(2 * MINUTES);
      await eventually(async () => expect(await admin.licenses()).toHaveLength(1), TIME_LIMIT);
      await tenant.untilControlPlane({
        licenseTier: "premium",
        externalProvisionerDaemonsEntitlement: "entitled",
      });
      await tenant.untilDaemonsServe("linux", admin);
    });

    test("a revoked token is replaced", async () => {
      const before = await tenant.secretValue("coder-operator-token", "token");
      await admin.delete(`/api/v2/users/coder-k8s-operator/keys/${before.split("-")[0]}`);
      await world.timePasses(10 * MINUTES);
      await eventually(async () => {
        expect(await tenant.secretValue("coder-operator-token", "token")).not.toBe(before);
      }, TIME_LIMIT);
      await tenant.untilCondition(
        CoderControlPlane,
        { type: "OperatorAccessReady" },
        { reason: "TokenReady" },
      );
      await tenant.untilDaemonsServe("linux", admin);
    });

    test("a new password of the database is used as soon as its Secret has it", async () => {
      const url = await tenant.database.changePassword();
      await tenant.delete(Secret, "coder-operator-token");
      await tenant.untilCondition(
        CoderControlPlane,
        { type: "OperatorAccessReady" },
        { status: "False", reason: "DatabaseAuthenticationFailed" },
      );
      await tenant.putSecret("coder-db", { url });
      await tenant.untilCondition(
        CoderControlPlane,
        { type: "OperatorAccessReady" },
        { reason: "TokenReady" },
      );
      const since = new Date().toISOString();
      const restarted = { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": since } } };
      await world.person.mergePatch(Deployment, tenant.ref("coder"), { spec: { template: restarted } });
      await eventually(async () => {
        const daemons = await tenant.untilDaemonsServe("linux", admin);
        for (const { last_seen_at: seen } of daemons)
          expect(Date.parse(seen)).toBeGreaterThan(Date.parse(since));
      }, TIME_LIMIT);
    });

    test("a lost token of a proxy is replaced, and its new display name reaches coderd", async () => {
      await tenant.delete(Secret, "sydney-proxy-token");
      await eventually(async () => {
        expect(await tenant.secretValue("sydney-proxy-token", "token")).toMatch(/^[0-9a-f-]{36}:\w{64}$/);
      }, TIME_LIMIT);
      await tenant.change(CoderWorkspaceProxy, "sydney", { registration: { displayName: "Sydney II" } });
      await eventually(async () => {
        expect(await admin.proxy("sydney")).toMatchObject({ healthy: true, display_name: "Sydney II" });
      }, TIME_LIMIT);
    });

    test("what is deleted leaves neither key nor proxy at coderd", async () => {
      await tenant.delete(CoderProvisioner, "linux");
      await tenant.delete(CoderWorkspaceProxy, "sydney");
      await eventually(async () => expect(await admin.keys()).toEqual([]), TIME_LIMIT);
      await eventually(async () => expect(await admin.proxy("sydney")).toBeUndefined(), TIME_LIMIT);
    });

    test("an unneeded token is revoked by coderd's API if the database is unreachable", async () => {
      const token = await tenant.secretValue("coder-operator-token", "token");
      const asOperator = { headers: { "Coder-Session-Token": token } };
      const statusOf = async () => (await fetch(`${admin.url}/api/v2/users/me`, asOperator)).status;
      expect(await statusOf()).toBe(200);
      const elsewhere = tenant.database.url.replace(/:\d+\//, ":1/");
      await tenant.putSecret("coder-db", { url: elsewhere });
      await tenant.change(CoderControlPlane, "coder", { operatorAccess: { disabled: true } });
      await tenant.untilCondition(CoderControlPlane, { type: "OperatorAccessReady" }, { reason: "Disabled" });
      expect(await statusOf()).toBe(401);
      const revocations = world.gateway.exchanges.filter(({ method, path }) =>
        `${method} ${path}`.endsWith(`DELETE /api/v2/users/me/keys/${token.split("-")[0]}`),
      );
      expect(revocations.map(({ status }) => status)).toEqual([204]);
    });
  });

  test("nothing of all this has put a token, a key, a license or a password into the operator's log", () => {
    expect(world.secrets.size).toBeGreaterThan(8);
    expect(world.leaks()).toEqual([]);
  });

  test("all that the operator asked coderd for, and all that it was answered, is among the recordings", () => {
    const recorded = recordingNames()
      .map((name) => loadRecording(name))
      .map(({ request, response }) => `${request.method} ${routeOf(request.path)} ${response.status}`);
    // Who is not known gets the same answer everywhere.
    const seen = world.gateway.exchanges
      .filter(({ status }) => status !== undefined && status !== 401)
      .map(({ method, path, status }) => `${method} ${routeOf(path)} ${status}`);
    expect([...new Set(seen)].filter((exchange) => !recorded.includes(exchange))).toEqual([]);
  });
});

/** A path without the names of things. */
function routeOf(path: string): string {
  const route = path.replace(
    /\b(organizations|provisionerkeys|workspaceproxies|keys)\/(?!me\b)[^/]+/g,
    "$1/:name",
  );
  // Daemons are recorded as coderd lists them by default, which has a limit.
  return route.replace(/\?limit=0$/, "");
}
