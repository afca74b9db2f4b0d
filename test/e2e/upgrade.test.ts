import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreEvent, CronJob, Pod } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import type { UpgradeStage } from "../../src/api/v1alpha1/upgrade.ts";
import { everyCoder } from "./support/binaries.ts";
import { CoderdAdmin } from "./support/coderd-admin.ts";
import { Tenant } from "./support/tenant.ts";
import { copyDatabase, DatabaseWatch, ServiceWatch } from "./support/upgrade-watch.ts";
import { World } from "./support/world.ts";

const binaries = await everyCoder();
const OLD = "ghcr.io/coder/coder:v2.26.0";
const NEW = "ghcr.io/coder/coder:v2.36.1";
const STAGES = [
  "Preflight",
  "Draining",
  "ScalingDown",
  "Migrating",
  "Verifying",
  "ScalingOut",
  "Followers",
  "Completed",
];
const TIME_LIMIT = { withinMs: 120_000 };
const THEIRS = { enabled: true, message: "Closed on Monday", background_color: "#00ff00" };
const OF_PEOPLE = { application_name: "Acme", logo_url: "/logo.png", announcement_banners: [THEIRS] };
const TEMPLATE = 'resource "terraform_data" "workspace" {}\n';

/** The program in an image. */
function programIn(image: string): string {
  if (image === OLD) return binaries?.["coder-old"] ?? "";
  if (image === NEW) return binaries?.coder ?? "";
  throw new Error(`no such image: ${image}`);
}

/** The database URL of a tenant, by which sessions call themselves after the version that opens them. */
async function putUrl(tenant: Tenant, application: string): Promise<object> {
  const name = `db-${application}`;
  await tenant.putSecret(name, { url: `${tenant.database.url}&application_name=${application}` });
  return { name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef: { name, key: "url" } } };
}

/** The superuser's access to the database of a tenant. */
function superuserUrl({ world: { postgres }, database }: Tenant): string {
  return `postgres://postgres:${postgres.password}@127.0.0.1:${postgres.port}/${database.name}`;
}

async function podUIDs({ world, namespace }: Tenant): Promise<string[]> {
  const labelSelector = "app.kubernetes.io/name=coder-control-plane";
  const { items } = await world.person.list(Pod, { namespace, labelSelector });
  return items.map(({ metadata }) => metadata.uid);
}

function untilNoPods(tenant: Tenant): Promise<void> {
  return eventually(async () => expect(await podUIDs(tenant)).toEqual([]), TIME_LIMIT);
}

function untilStage(tenant: Tenant, stage: UpgradeStage) {
  return eventually(async () => {
    const { status } = await tenant.get(CoderControlPlane, "coder");
    expect(status?.upgrade?.stage).toBe(stage);
    return status?.upgrade;
  }, TIME_LIMIT);
}

describe.skipIf(!binaries)("a real coderd 2.26.0", () => {
  let world: World;
  const owned = new AsyncDisposableStack();
  const tenants: Tenant[] = [];

  beforeAll(async () => {
    if (!binaries) return;
    world = owned.use(await World.open(binaries));
    await world.startOperator();
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  // Each coderd keeps a dozen connections to the one Postgres, which has a hundred.
  afterEach(async () => {
    for (const tenant of tenants.splice(0)) {
      await tenant.delete(CoderControlPlane, "coder");
      await untilNoPods(tenant);
    }
  });
  afterAll(() => owned.disposeAsync());

  /** A control plane of the old version that serves, with an admin. */
  async function settle(prefix: string): Promise<{ tenant: Tenant; admin: CoderdAdmin }> {
    const tenant = await Tenant.move(world, prefix, { image: OLD, replicas: 1, coder: programIn });
    tenants.push(tenant);
    const { spec } = await tenant.get(CoderControlPlane, "coder");
    const others = (spec?.extraEnv ?? []).slice(1);
    await tenant.change(CoderControlPlane, "coder", { extraEnv: [await putUrl(tenant, "old"), ...others] });
    await tenant.untilControlPlane({ phase: "Ready", version: "v2.26.0" });
    const url = await world.services.translate(`http://coder.${tenant.namespace}.svc.cluster.local`);
    const admin = owned.use(await CoderdAdmin.signUp(url, programIn(OLD)));
    return { tenant, admin };
  }

  async function upgrade(tenant: Tenant, image = NEW, ...more: readonly object[]): Promise<void> {
    const { spec } = await tenant.get(CoderControlPlane, "coder");
    const others = (spec?.extraEnv ?? []).slice(1);
    await tenant.change(CoderControlPlane, "coder", {
      image,
      replicas: 1,
      extraEnv: [await putUrl(tenant, "new"), ...others, ...more],
    });
  }

  /** A stage that is reached only after the new pod has failed for its time. */
  async function untilGivenUp(tenant: Tenant, stage: "RolledBack" | "Stuck"): Promise<string> {
    await untilStage(tenant, "Migrating");
    return eventually(async () => {
      await world.timePasses(10_000);
      const { status } = await tenant.get(CoderControlPlane, "coder");
      expect(status?.upgrade?.stage).toBe(stage);
      return status?.upgrade?.message ?? "";
    }, TIME_LIMIT);
  }

  /** The old version serves, on its schema, with the users that it had. */
  async function expectOld(tenant: Tenant, admin: CoderdAdmin): Promise<void> {
    await tenant.untilCondition(CoderControlPlane, { type: "Available" }, { status: "True" });
    const version = expect.stringContaining("v2.26.0");
    expect(await admin.get("/api/v2/buildinfo")).toMatchObject({ version });
    expect(await tenant.database.query("SELECT version FROM schema_migrations")).toEqual([
      { version: "362" },
    ]);
    const { users } = await admin.get<{ users: { username: string }[] }>("/api/v2/users");
    expect(users.map(({ username }) => username)).toContain("admin");
  }

  test("becomes 2.36.1 with all its data, and no old pod meets the new schema", async () => {
    const { tenant, admin } = await settle("upgrade");
    const [license] = await mint(binaries ?? expect.fail(), "premium");
    await tenant.putSecret("license", { license });
    await tenant.change(CoderControlPlane, "coder", { licenseSecretRef: { name: "license" }, replicas: 2 });
    await tenant.provision("linux", { replicas: 1 });
    await admin.invite({ email: "dev@example.com", username: "dev", name: "Dev" });
    await tenant.untilDaemonsServe("linux", admin);
    const templates = await mkdtemp(join(tmpdir(), "coder-k8s-template-"));
    owned.defer(() => rm(templates, { recursive: true, force: true }));
    await writeFile(join(templates, "main.tf"), TEMPLATE);
    await admin.cli("templates", "push", "small", "-d", templates, "--yes");
    await admin.cli("create", "mine", "--template", "small", "--yes");
    await tenant.untilCondition(CoderControlPlane, { type: "Ready" }, { status: "True" });

    await using database = new DatabaseWatch(superuserUrl(tenant));
    await using service = new ServiceWatch(admin.url);
    await upgrade(tenant);
    await untilStage(tenant, "Completed");
    await tenant.untilCondition(CoderControlPlane, { type: "Ready" }, { status: "True" });
    const seen = await database.stop();
    const downMs = await service.stop();
    const { status } = await tenant.get(CoderControlPlane, "coder");
    const events = await world.person.list(CoreEvent, { namespace: tenant.namespace });
    const reasons = events.items
      .map(({ reason }) => reason)
      .filter((reason) => reason?.startsWith("Upgrade"));
    console.info(`without service for ${downMs} ms`, JSON.stringify(status?.upgrade, undefined, 1));

    expect(status).toMatchObject({ version: expect.stringContaining("v2.36.1"), image: NEW });
    expect(status?.upgrade).toMatchObject({ schemaBefore: 362, from: OLD, to: NEW });
    expect(new Set(reasons)).toEqual(new Set(STAGES.map((stage) => `Upgrade${stage}`)));
    expect(seen.schemas).toEqual([362, 556]);
    expect(seen.applicationsOn(362)).toContain("old");
    expect(seen.applicationsOn(556)).not.toContain("old");
    expect(downMs).toBeGreaterThan(0);

    const { users } = await admin.get<{ users: { username: string }[] }>("/api/v2/users");
    expect(users.map(({ username }) => username)).toEqual(expect.arrayContaining(["admin", "dev"]));
    expect((await admin.workspace("mine")).latest_build.job.status).toBe("succeeded");
    const [daemon] = await tenant.untilDaemonsServe("linux", admin);
    expect(daemon).toMatchObject({ version: "v2.36.1" });
    await admin.cli("create", "after", "--template", "small", "--yes");
    const { spec } = await tenant.get(CoderProvisioner, "linux");
    expect(spec?.image).toBeUndefined();
  });

  test("shows a banner and pauses prebuilds before it becomes 2.36.1, and restores the settings afterwards", async () => {
    const { tenant, admin } = await settle("announced");
    const [license] = await mint(binaries ?? expect.fail(), "premium");
    await tenant.putSecret("license", { license });
    // Without a kubelet its Jobs never end, so the old version serves until there is no backup to wait for.
    const pod = { restartPolicy: "Never", containers: [{ name: "dump", image: "postgres" }] };
    const jobTemplate = { spec: { template: { spec: pod } } };
    const metadata = { namespace: tenant.namespace, name: "dump" };
    await world.person.create(CronJob, {
      ...{ apiVersion: CronJob.apiVersion, kind: CronJob.kind, metadata },
      spec: { schedule: "@daily", suspend: true, jobTemplate },
    });
    await tenant.change(CoderControlPlane, "coder", {
      licenseSecretRef: { name: "license" },
      upgrade: { announce: { banner: "Back soon", pausePrebuilds: true }, backup: { cronJobName: "dump" } },
    });
    await tenant.untilControlPlane({ licenseTier: "premium" });
    await admin.put("/api/v2/appearance", OF_PEOPLE);

    await upgrade(tenant);
    await untilStage(tenant, "BackingUp");
    expect(await admin.get("/api/v2/buildinfo")).toMatchObject({
      version: expect.stringContaining("v2.26.0"),
    });
    const banners = [THEIRS, { enabled: true, message: "Back soon", background_color: "#ABB8C3" }];
    expect(await admin.get("/api/v2/appearance")).toMatchObject({
      ...OF_PEOPLE,
      announcement_banners: banners,
    });
    expect(await admin.get("/api/v2/prebuilds/settings")).toEqual({ reconciliation_paused: true });

    await tenant.change(CoderControlPlane, "coder", { upgrade: { backup: null } });
    await untilStage(tenant, "Completed");
    await eventually(async () => {
      const { status } = await tenant.get(CoderControlPlane, "coder");
      expect(status?.announcement).toBeUndefined();
    }, TIME_LIMIT);
    expect(await admin.get("/api/v2/buildinfo")).toMatchObject({
      version: expect.stringContaining("v2.36.1"),
    });
    expect(await admin.get("/api/v2/appearance")).toMatchObject(OF_PEOPLE);
    expect(await admin.get("/api/v2/prebuilds/settings")).toEqual({ reconciliation_paused: false });
  });

  test("is kept when the new image does not exist", async () => {
    const { tenant, admin } = await settle("wrong");
    const pods = await podUIDs(tenant);
    await upgrade(tenant, "ghcr.io/coder/coder:v2.99.0");
    const refused = { status: "False", reason: "ImagePullFailed" };
    await tenant.untilCondition(CoderControlPlane, { type: "Upgrading" }, refused);
    await expectOld(tenant, admin);
    expect(await podUIDs(tenant)).toEqual(expect.arrayContaining(pods));
  });

  test("is rolled back with its data when the new one crashes before its migration is committed", async () => {
    const { tenant, admin } = await settle("before");
    // Migration 366 makes a table of this name: it fails, and all before it are rolled back with it.
    await tenant.database.query("CREATE TABLE tasks (id int)");
    await upgrade(tenant);
    expect(await untilGivenUp(tenant, "RolledBack")).toContain("crashes with exit code");
    await expectOld(tenant, admin);
  });

  test("is restored from its backup when the new one crashes after its migration is committed", async () => {
    const { tenant, admin } = await settle("after");
    const { name } = tenant.database;
    const before = await tenant.get(CoderControlPlane, "coder");
    await tenant.change(CoderControlPlane, "coder", { replicas: 0 });
    await tenant.untilControlPlane({ readyReplicas: 0 });
    await copyDatabase(world.postgres, { from: name, to: `${name}_backup`, owner: name });
    // coderd refuses this, and looks at it only once its database is migrated.
    await upgrade(tenant, NEW, { name: "CODER_NOTIFICATIONS_METHOD", value: "inbox" });
    expect(await untilGivenUp(tenant, "Stuck")).toContain("The database schema has changed (previously 362)");
    expect(await tenant.database.query("SELECT version FROM schema_migrations")).toEqual([
      { version: "556" },
    ]);

    const { extraEnv } = before.spec ?? {};
    await tenant.change(CoderControlPlane, "coder", { replicas: 0, image: OLD, extraEnv });
    await untilNoPods(tenant);
    await copyDatabase(world.postgres, { from: `${name}_backup`, to: name, owner: name });
    await tenant.change(CoderControlPlane, "coder", { replicas: 1 });
    await tenant.untilCondition(CoderControlPlane, { type: "Ready" }, { status: "True" });
    await expectOld(tenant, admin);
    await world.postgres.dropDatabase(`${name}_backup`);
  });

  test("names the session that blocks its migration, and continues when that ends", async () => {
    const { tenant, admin } = await settle("blocked");
    await using database = new DatabaseWatch(superuserUrl(tenant));
    const blocker = await database.lockTable("users", "another-app");
    await upgrade(tenant);
    const { message } = await eventually(async () => {
      const { status } = await tenant.get(CoderControlPlane, "coder");
      const condition = status?.conditions?.find(({ type }) => type === "Upgrading");
      expect(condition?.message).toContain('application "another-app"');
      return condition ?? expect.fail();
    }, TIME_LIMIT);
    expect(message).toContain("pg_terminate_backend");
    await blocker.release();
    await untilStage(tenant, "Completed");
    expect((await database.stop()).applicationsOn(556)).not.toContain("old");
    expect(await admin.get("/api/v2/buildinfo")).toMatchObject({
      version: expect.stringContaining("v2.36.1"),
    });
  });

  test("becomes 2.36.1 although the database is unavailable during its migration", async () => {
    const { tenant, admin } = await settle("away");
    const said = (text: string) =>
      eventually(async () => {
        const { status } = await tenant.get(CoderControlPlane, "coder");
        const condition = status?.conditions?.find(({ type }) => type === "Upgrading");
        expect(condition).toMatchObject({ reason: "Migrating", message: expect.stringContaining(text) });
      }, TIME_LIMIT);
    await using database = new DatabaseWatch(superuserUrl(tenant));
    await database.lockTable("users", "another-app");
    await upgrade(tenant);
    await said('application "another-app"');
    await world.postgres.turn("down");
    await said("The progress is unknown.");
    await world.postgres.turn("up");
    await untilStage(tenant, "Completed");
    expect(await admin.get("/api/v2/buildinfo")).toMatchObject({
      version: expect.stringContaining("v2.36.1"),
    });
    const { users } = await admin.get<{ users: { username: string }[] }>("/api/v2/users");
    expect(users.map(({ username }) => username)).toContain("admin");
  });
});
