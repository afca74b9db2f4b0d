import { Pod } from "kube-controller-runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import { isReadyPod } from "../../src/operator/workload/pods/owned-pods.ts";
import { Tenant } from "./support/tenant.ts";
import { World } from "./support/world.ts";

const binaries = inject("coder");
const MAX_DELAY_MS = 30_000;

describe.skipIf(!binaries)("a real coderd whose database takes no connection", () => {
  let world: World;
  let tenant: Tenant;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    world = owned.use(await World.open(binaries));
    await world.startOperator();
    tenant = await Tenant.move(world, "outage");
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  /** From another database, because this one accepts no connections. */
  async function database(isOpen: boolean): Promise<void> {
    const { query } = await world.postgres.createDatabase("empty");
    await query(`ALTER DATABASE ${tenant.database.name} WITH ALLOW_CONNECTIONS ${isOpen}`);
    if (isOpen) return;
    const ofIt = `datname = '${tenant.database.name}'`;
    await query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ofIt}`);
  }

  test("is not ready and not healthy within 30 s, although its pod is, and is again afterwards", async () => {
    await tenant.untilCondition(CoderControlPlane, { type: "Ready" }, { status: "True" });
    await tenant.untilControlPlane({ operatorAccessReady: true });
    await database(false);
    const began = Date.now();
    const without = { status: "False", reason: "CoderdWithoutDatabase" } as const;
    const { message } = await tenant.untilCondition(CoderControlPlane, { type: "Ready" }, without);
    expect(message).toContain("coderd cannot reach its database");
    const failing = { status: "False", reason: "DatabaseFailing" } as const;
    await tenant.untilCondition(CoderControlPlane, { type: "Healthy" }, failing);
    expect(Date.now() - began).toBeLessThanOrEqual(MAX_DELAY_MS);
    const { items } = await world.person.list(Pod, { namespace: tenant.namespace });
    expect(items.map(isReadyPod)).toEqual([true]);
    await database(true);
    await tenant.untilCondition(CoderControlPlane, { type: "Ready" }, { status: "True" });
  });
});
