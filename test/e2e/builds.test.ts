import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pod, Secret, systemClock } from "kube-controller-runtime";
import { eventually, unfenced } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { CoderClients } from "../../src/coder/clients.ts";
import type { CoderdAdmin } from "./support/coderd-admin.ts";
import { Tenant } from "./support/tenant.ts";
import { TIME_LIMIT, World } from "./support/world.ts";

const binaries = inject("coder");

/** Downloads no provider: Terraform has this resource built in. */
const TEMPLATE = `
resource "terraform_data" "workspace" {
  provisioner "local-exec" {
    command = "sleep 60"
  }
}
`;

/** What may happen to a provisioner while one of its daemons builds a workspace. */
const UPHEAVALS: Readonly<Record<string, (tenant: Tenant, name: string) => Promise<unknown>>> = {
  "key-rotation": (tenant, name) => tenant.delete(Secret, `${name}-provisioner-key`),
  rollout: (tenant, name) =>
    tenant.change(CoderProvisioner, name, { extraEnv: [{ name: "LEVEL", value: "2" }] }),
  "scale-down": (tenant, name) => tenant.change(CoderProvisioner, name, { replicas: 0 }),
};

describe.skipIf(!binaries)(
  "a real workspace build of a minute, which outlasts a rollout of its daemon",
  () => {
    let world: World;
    let tenant: Tenant;
    let admin: CoderdAdmin;
    let templates: string;
    const owned = new AsyncDisposableStack();

    beforeAll(async () => {
      if (!binaries) return;
      templates = await mkdtemp(join(tmpdir(), "coder-k8s-template-"));
      owned.defer(() => rm(templates, { recursive: true, force: true }));
      await writeFile(join(templates, "main.tf"), TEMPLATE);
      world = owned.use(await World.open(binaries));
      await world.startOperator();
      tenant = await Tenant.move(world, "builds", { licenseSecretRef: { name: "license" } });
      const [license] = await mint(binaries, "enterprise");
      await tenant.putSecret("license", { license });
      for (const pool of Object.keys(UPHEAVALS)) await tenant.provision(pool, { tags: { pool } });
      admin = owned.use(await tenant.signUp());
      await tenant.untilControlPlane({ licenseTier: "enterprise" });
    });
    beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
    afterAll(() => owned.disposeAsync());

    /** The pod that builds the workspace, once it does: before that the same daemon may be busy with a trial run. */
    function untilBuilding(workspace: string): Promise<string> {
      return eventually(async () => {
        const { job } = (await admin.workspace(workspace)).latest_build;
        expect(job.status).toBe("running");
        const worker = (await admin.daemons()).find(({ id }) => id === job.worker_id);
        return worker?.name ?? expect.fail("no daemon has the job");
      }, TIME_LIMIT);
    }

    /** What the operator sees of the queue: the daemon, with the job that it has. */
    async function expectBusy(pod: string): Promise<void> {
      const clients = new CoderClients({ fence: unfenced, clock: systemClock });
      await using _ = { [Symbol.asyncDispose]: () => clients.close() };
      const client = clients.client({ url: admin.url, token: admin.token });
      const [jobs, daemons] = await Promise.all([
        client.unfinishedJobs("default"),
        client.provisionerDaemons("default"),
      ]);
      if (!jobs.ok || !daemons.ok) return expect.fail("coderd did not answer");
      const daemon = daemons.value.find(({ name }) => name === pod);
      const job = jobs.value.find(({ id }) => id === daemon?.currentJobId);
      expect(daemon).toMatchObject({ status: "busy" });
      expect(job).toMatchObject({ status: "running", workerId: daemon?.id, type: "workspace_build" });
    }

    /** The key of the status is the only one that coderd has of a pool. */
    function untilOneKey(pool: string): Promise<void> {
      return eventually(async () => {
        const { status } = await tenant.get(CoderProvisioner, pool);
        const keys = (await admin.keys()).filter(({ name }) => name.startsWith(pool));
        expect(keys.map(({ id }) => id)).toEqual([status?.provisionerKeyID]);
      }, TIME_LIMIT);
    }

    function untilLeaving(pod: string): Promise<void> {
      return eventually(async () => {
        const { metadata } = await tenant.get(Pod, pod);
        expect(metadata.deletionTimestamp).toBeDefined();
      }, TIME_LIMIT);
    }

    describe.concurrent("survives", () => {
      test.each(Object.entries(UPHEAVALS))("a %s", async (pool, upheaval) => {
        await tenant.untilDaemonsServe(pool, admin);
        await admin.cli(
          "templates",
          "push",
          pool,
          "-d",
          templates,
          "--provisioner-tag",
          `pool=${pool}`,
          "--yes",
        );
        const building = admin.cli("create", pool, "--template", pool, "--yes");
        const pod = await untilBuilding(pool);
        await expectBusy(pod);
        const { status: before } = await tenant.get(CoderProvisioner, pool);
        await upheaval(tenant, pool);
        await untilLeaving(pod);
        expect((await admin.workspace(pool)).latest_build.job.status).toBe("running");
        expect((await admin.keys()).map(({ id }) => id)).toContain(before?.provisionerKeyID);
        await building;
        expect((await admin.workspace(pool)).latest_build.job.status).toBe("succeeded");
        await untilOneKey(pool);
      });
    });
  },
);
