import { join } from "node:path";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NAMESPACE } from "../../demo/manifests.ts";
import { startWorld, type World } from "../../demo/world.ts";
import { chartDir } from "../support/helm.ts";
import { alerts, queries } from "../support/monitoring.ts";
import { type Prometheus, startPrometheus } from "./prometheus.ts";

const TIME_LIMIT = { withinMs: 90_000 };
const silent = { starting: () => {}, running: () => {}, report: () => {} };

/** Objects that never get ready: a dashboard is for what is wrong. */
const broken = ["CoderProvisioner", "CoderGroup"].map((kind) => ({
  apiVersion: "coder.com/v1alpha1",
  kind,
  metadata: { name: "stray", namespace: NAMESPACE },
  spec: { controlPlaneRef: { name: "missing" } },
}));

const owned = new AsyncDisposableStack();
let world: World;
let prometheus: Prometheus;
beforeAll(async () => {
  const { signal } = new AbortController();
  world = await startWorld({}, { owned, progress: silent, signal });
  prometheus = owned.use(await startPrometheus(join(chartDir, "files/alerts.yaml")));
  await world.cluster.apply(world.manifests);
  for (const object of broken) await world.cluster.apply(object);
  await soon(async () => {
    const ready = 'coder_k8s_object_condition{condition="Ready",status="True"}';
    expect(await prometheus.query(ready)).toHaveLength(3);
  });
  // A build that waits, and one that no pool could take.
  const organization = world.simulator?.organizations[0]?.id ?? "";
  for (const tags of [{ os: "linux" }, { gpu: "none" }]) world.simulator?.jobs.submit({ organization, tags });
  // Watches break and requests fail, which is on the dashboard too. A leader that loses its Lease meanwhile ends, and
  // comes back at another address.
  await world.cluster.restartApiServer();
});
afterAll(() => owned.disposeAsync());

/** Waits for a state of what Prometheus has of the operators that run at the moment. */
function soon(check: () => Promise<void>): Promise<void> {
  return eventually(async () => {
    await prometheus.scrape(world.operators.replicas.map(({ metricsAddress }) => metricsAddress));
    await check();
  }, TIME_LIMIT);
}

/** The query with the default selection of the dashboard: everything. */
const chosen = (query: string) => query.replaceAll("$job", ".+").replaceAll("$namespace", ".*");
const numberOf = async (query: string) => Number((await prometheus.query(query))[0]?.value[1]);

describe("the dashboard, over a real fleet", () => {
  test.for(queries.filter(({ where }) => !where.startsWith("alert ")))(
    "$where: $query shows something",
    async ({ query }) => {
      await soon(async () => expect((await prometheus.query(chosen(query))).length).toBeGreaterThan(0));
    },
  );

  test("counts replicas, one leader, objects, and objects that are not ready", async () => {
    await soon(async () => {
      expect(await numberOf("sum(up)")).toBe(2);
      expect(await numberOf("sum(coder_k8s_leader)")).toBe(1);
      expect(await numberOf("count(coder_k8s_object_phase)")).toBe(5);
      const notReady = await prometheus.query('coder_k8s_object_condition{condition="Ready",status!="True"}');
      expect(notReady.map(({ metric }) => metric.name)).toEqual(["stray", "stray"]);
    });
  });
});

describe("the alerts, over a real fleet", () => {
  test("are loaded and evaluated without an error", async () => {
    await soon(async () => {
      const rules = await prometheus.rules();
      const loaded = rules.map(({ name, health }) => `${name} ${health}`);
      expect(loaded.toSorted()).toEqual(alerts.map(({ alert }) => `${alert} ok`).toSorted());
    });
  });

  test("see the objects that are not ready, and no others", async () => {
    await soon(async () => {
      const pending = await prometheus.query('ALERTS{kind!=""}');
      const seen = new Set(pending.map(({ metric }) => `${metric.alertname} ${metric.name}`));
      expect([...seen].toSorted()).toEqual([
        "CoderEntityNotReady stray",
        "CoderObjectNotReady stray",
        "CoderProvisionerDown stray",
      ]);
    });
  });
});
