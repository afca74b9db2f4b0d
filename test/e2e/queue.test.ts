import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Deployment, Pod } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { PAUSE_ANNOTATION } from "../../src/operator/pause.ts";
import type { CoderdAdmin } from "./support/coderd-admin.ts";
import { Tenant } from "./support/tenant.ts";
import { World } from "./support/world.ts";

const binaries = inject("coder");
const BUILDS = 10;
const MAX = 5;
const LIMIT = { withinMs: 150_000 };

/** An automatic start waits for its minute, and for the next look of coderd, which has one a minute. */
const AUTOMATIC_LIMIT = { withinMs: 240_000 };
/** How often a pool shrinks beside busy daemons. */
const ROUNDS = Number(process.env.ROUNDS ?? 1);
const MINUTE = 60_000;

/** Downloads no provider: Terraform has this resource built in. */
const template = (seconds: number) => `
resource "terraform_data" "workspace" {
  provisioner "local-exec" {
    command = "sleep ${seconds}"
  }
}
`;

interface ListedJob {
  readonly created_at: string;
  readonly started_at?: string;
  readonly status: string;
  readonly worker_id?: string;
}

describe.skipIf(!binaries)("a pool that follows the queue of the real coderd", () => {
  let world: World;
  let tenant: Tenant;
  let admin: CoderdAdmin;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    world = owned.use(await World.open(binaries));
    await world.startOperator();
    tenant = await Tenant.move(world, "queue", { licenseSecretRef: { name: "license" } });
    const [license] = await mint(binaries, "enterprise");
    await tenant.putSecret("license", { license });
    admin = owned.use(await tenant.signUp());
    await tenant.untilControlPlane({ licenseTier: "enterprise" });
    const autoscaling = { minReplicas: 0, maxReplicas: MAX, pollSeconds: 5, keepWarmMinutes: 0 };
    const delayed = { ...autoscaling, scaleDownDelaySeconds: 10 };
    await tenant.provision("pool", { replicas: 0, tags: { pool: "a" }, autoscaling: delayed });
    const undelayed = { ...autoscaling, scaleDownDelaySeconds: 0 };
    await tenant.provision("spare", { replicas: 0, tags: { pool: "b" }, autoscaling: undelayed });
    await pushTemplate("quick", { seconds: 5, pool: "a" });
  });

  async function pushTemplate(name: string, { seconds, pool }: { seconds: number; pool: string }) {
    const dir = await mkdtemp(join(tmpdir(), "coder-k8s-template-"));
    owned.defer(() => rm(dir, { recursive: true, force: true }));
    await writeFile(join(dir, "main.tf"), template(seconds));
    await admin.cli("templates", "push", name, "-d", dir, "--provisioner-tag", `pool=${pool}`, "--yes");
  }

  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  const wanted = async (pool = "pool") =>
    (await tenant.get(Deployment, `provisioner-${pool}`)).spec?.replicas;
  const untilResting = (pool = "pool") => eventually(async () => expect(await wanted(pool)).toBe(0), LIMIT);

  async function build(name: string, from = "quick"): Promise<() => Promise<ListedJob>> {
    const { id } = await admin.get<{ id: string }>(`/api/v2/organizations/default/templates/${from}`);
    await admin.post("/api/v2/users/me/workspaces", { name, template_id: id });
    return async () => (await admin.workspace(name)).latest_build.job as ListedJob;
  }

  test(`${BUILDS} builds at once from zero all succeed on ${MAX} daemons, and it returns to zero`, async () => {
    await untilResting();
    const names = Array.from({ length: BUILDS }, (_, index) => `w${index}`);
    const builds = await Promise.all(names.map((name) => build(name)));
    let most = 0;
    const jobs = await eventually(async () => {
      most = Math.max(most, (await wanted()) ?? 0);
      const all = await Promise.all(builds.map((job) => job()));
      expect(all.map(({ status }) => status)).toEqual(names.map(() => "succeeded"));
      return all;
    }, LIMIT);
    const waits = jobs.map((job) => Date.parse(job.started_at ?? "") - Date.parse(job.created_at));
    expect(Math.min(...waits)).toBeLessThan(60_000);
    expect(most).toBe(MAX);
    await untilResting();
    const { status } = await tenant.get(CoderProvisioner, "pool");
    expect(status).toMatchObject({ desiredReplicas: 0 });
  });

  test("a workspace starts automatically although its pool was at zero, because a daemon is kept warm", {
    timeout: 480_000,
  }, async () => {
    await build("scheduled");
    await eventually(async () => {
      expect((await admin.workspace("scheduled")).latest_build.job.status).toBe("succeeded");
    }, LIMIT);
    await admin.cli("stop", "scheduled", "--yes");
    const { id } = await admin.workspace("scheduled");
    const due = new Date(Math.ceil(Date.now() / MINUTE) * MINUTE + MINUTE);
    const schedule = `CRON_TZ=UTC ${due.getUTCMinutes()} ${due.getUTCHours()} * * *`;
    await admin.put(`/api/v2/workspaces/${id}/autostart`, { schedule });
    if (process.env.RECORD) await recordWorkspaces();
    await untilResting();
    await tenant.change(CoderProvisioner, "pool", { autoscaling: { keepWarmMinutes: 60 } });
    await eventually(async () => expect(await wanted()).toBe(1), LIMIT);
    await eventually(async () => {
      const { reason, job } = (await admin.workspace("scheduled")).latest_build;
      expect([reason, job.status]).toEqual(["autostart", "succeeded"]);
    }, AUTOMATIC_LIMIT);
    await tenant.change(CoderProvisioner, "pool", { autoscaling: { keepWarmMinutes: 0 } });
    await untilResting();
  });

  /** Keeps what the simulator is held to. */
  async function recordWorkspaces(): Promise<void> {
    const listed = await admin.get("/api/v2/workspaces?q=name:scheduled&limit=1");
    await writeFile(
      new URL("../fixtures/coderd/workspaces.json", import.meta.url),
      `${JSON.stringify(listed, undefined, 2)}\n`,
    );
  }

  test(`${MAX} daemons of which 2 are busy shrink to these 2, whose builds succeed, ${ROUNDS} times of ${ROUNDS}`, {
    timeout: ROUNDS * 180_000,
  }, async () => {
    await pushTemplate("short", { seconds: 1, pool: "b" });
    await pushTemplate("long", { seconds: 30, pool: "b" });
    for (let round = 0; round < ROUNDS; round++) await shrinkOnce(round);
  });

  async function shrinkOnce(round: number): Promise<void> {
    await untilResting("spare");
    // All builds wait before the first daemon starts, so that there is one for each.
    await pause("spare", true);
    const long = await Promise.all(["a", "b"].map((name) => build(`long-${round}-${name}`, "long")));
    const short = await Promise.all(["a", "b", "c"].map((name) => build(`short-${round}-${name}`, "short")));
    await pause("spare", false);
    await eventually(async () => expect(await wanted("spare")).toBe(MAX), LIMIT);
    await eventually(async () => {
      const jobs = await Promise.all([...long, ...short].map((job) => job()));
      expect(jobs.map(({ status }) => status)).toEqual([
        ...long.map(() => "running"),
        ...short.map(() => "succeeded"),
      ]);
      expect(await wanted("spare")).toBe(long.length);
    }, LIMIT);
    const workers = await Promise.all(long.map(async (job) => (await job()).worker_id));
    const builders = (await admin.daemons()).filter(({ id }) => workers.includes(id)).map(({ name }) => name);
    await eventually(async () => expect(await staying("spare")).toEqual(builders.sort()), LIMIT);
    await eventually(async () => {
      const jobs = await Promise.all(long.map((job) => job()));
      expect(jobs.map(({ status }) => status)).toEqual(long.map(() => "succeeded"));
      expect(jobs.map(({ worker_id }) => worker_id)).toEqual(workers);
    }, LIMIT);
  }

  async function pause(pool: string, isPaused: boolean): Promise<void> {
    const annotations = { [PAUSE_ANNOTATION]: isPaused ? "true" : null };
    const ref = { namespace: tenant.namespace, name: pool };
    await world.person.mergePatch(CoderProvisioner, ref, { metadata: { annotations } });
  }

  /** The names of a pool's pods that are not being deleted. */
  async function staying(pool: string): Promise<string[]> {
    const labelSelector = `app.kubernetes.io/instance=${pool}`;
    const { items } = await world.person.list(Pod, { namespace: tenant.namespace, labelSelector });
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name)
      .sort();
  }
});
