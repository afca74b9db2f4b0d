import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Deployment } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import type { CoderdAdmin } from "./support/coderd-admin.ts";
import { Tenant } from "./support/tenant.ts";
import { World } from "./support/world.ts";

const binaries = inject("coder");
const BUILDS = 10;
const MAX = 5;
const LIMIT = { withinMs: 150_000 };

/** Downloads no provider: Terraform has this resource built in. */
const TEMPLATE = `
resource "terraform_data" "workspace" {
  provisioner "local-exec" {
    command = "sleep 5"
  }
}
`;

interface ListedJob {
  readonly created_at: string;
  readonly started_at?: string;
  readonly status: string;
}

describe.skipIf(!binaries)("a pool that follows the queue of the real coderd", () => {
  let world: World;
  let tenant: Tenant;
  let admin: CoderdAdmin;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    const templates = await mkdtemp(join(tmpdir(), "coder-k8s-template-"));
    owned.defer(() => rm(templates, { recursive: true, force: true }));
    await writeFile(join(templates, "main.tf"), TEMPLATE);
    world = owned.use(await World.open(binaries));
    await world.startOperator();
    tenant = await Tenant.move(world, "queue", { licenseSecretRef: { name: "license" } });
    const [license] = await mint(binaries, "enterprise");
    await tenant.putSecret("license", { license });
    admin = owned.use(await tenant.signUp());
    await tenant.untilControlPlane({ licenseTier: "enterprise" });
    const autoscaling = { minReplicas: 0, maxReplicas: MAX, scaleDownDelaySeconds: 10, pollSeconds: 5 };
    await tenant.provision("pool", { replicas: 0, tags: { pool: "a" }, autoscaling });
    await admin.cli("templates", "push", "quick", "-d", templates, "--provisioner-tag", "pool=a", "--yes");
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  const wanted = async () => (await tenant.get(Deployment, "provisioner-pool")).spec?.replicas;
  const untilResting = () => eventually(async () => expect(await wanted()).toBe(0), LIMIT);

  async function build(name: string): Promise<() => Promise<ListedJob>> {
    const [template] = await admin.get<{ id: string }[]>("/api/v2/organizations/default/templates");
    await admin.post("/api/v2/users/me/workspaces", { name, template_id: template?.id });
    return async () => (await admin.workspace(name)).latest_build.job as ListedJob;
  }

  test(`${BUILDS} builds at once from zero all succeed on ${MAX} daemons, and it returns to zero`, async () => {
    await untilResting();
    const names = Array.from({ length: BUILDS }, (_, index) => `w${index}`);
    const builds = await Promise.all(names.map(build));
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
});
