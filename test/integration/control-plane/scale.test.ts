import { type Client, Deployment } from "kube-controller-runtime";
import { type AuditRequest, adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningOperator, startOperator } from "../../../lab/operator.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { CountingMetrics } from "../../support/counting-metrics.ts";
import { childKinds } from "../../support/dump.ts";
import { SkewedClock } from "../../support/skewed-clock.ts";

const COUNT = 60;
const HOUR_MS = 60 * 60 * 1_000;
const TIME_LIMIT = { withinMs: 60_000 };

const cluster = sharedCluster();
const clock = new SkewedClock();
const metrics = new CountingMetrics();
let person: Client;
let namespaces: string[];
let operator: RunningOperator;
beforeAll(async () => {
  person = await adminClient(cluster);
  namespaces = await Promise.all(Array.from({ length: 4 }, () => cluster.createNamespace("many")));
  operator = await startOperator(cluster, { namespaces, clock, observer: metrics });
});
afterAll(() => operator?.stop());

/** The objects in the namespaces of this test. */
async function everywhere<T>(
  list: (namespace: string) => Promise<{ readonly items: readonly T[] }>,
): Promise<T[]> {
  return (await Promise.all(namespaces.map(list))).flatMap(({ items }) => items);
}

/** What the operator asked of the API server, apart from events. */
async function requests(): Promise<AuditRequest[]> {
  return (await cluster.auditRequests()).filter(
    ({ user, namespace = "", resource, stage }) =>
      user === cluster.operator.user &&
      namespaces.includes(namespace) &&
      resource !== "events" &&
      stage === "ResponseComplete",
  );
}

describe(`${COUNT} control planes created at once`, () => {
  test("all converge", { timeout: 120_000 }, async () => {
    const create = (_: unknown, index: number) =>
      person.create(CoderControlPlane, {
        metadata: { namespace: namespaces[index % namespaces.length] ?? "", name: `coder-${index}` },
        spec: {},
      });
    await Promise.all(Array.from({ length: COUNT }, create));
    await eventually(async () => {
      const items = await everywhere((namespace) => person.list(CoderControlPlane, { namespace }));
      const reported = items.filter(
        ({ status, metadata }) => status?.observedGeneration === metadata.generation && status?.phase,
      );
      expect(reported).toHaveLength(COUNT);
    }, TIME_LIMIT);
    const labelSelector = "app.kubernetes.io/managed-by=coder-k8s";
    const lists = await Promise.all(
      childKinds.map((kind) => everywhere((namespace) => person.list(kind, { namespace, labelSelector }))),
    );
    const counts = lists.map(({ length }, index) => [childKinds[index]?.kind, length]);
    expect(Object.fromEntries(counts)).toEqual({
      ServiceAccount: COUNT,
      Role: COUNT,
      RoleBinding: COUNT,
      Deployment: COUNT,
      Service: COUNT,
      Ingress: 0,
      PodDisruptionBudget: 0,
    });
  });

  test("took one write for each child and two for each status, apart from events", async () => {
    const written = (await requests()).filter(({ verb }) => !["get", "list", "watch"].includes(verb));
    const byResource = Object.groupBy(written, ({ resource = "", subresource }) =>
      [resource, subresource].filter(Boolean).join("/"),
    );
    const counts = Object.entries(byResource).map(([resource, found]) => [resource, found?.length]);
    expect(Object.fromEntries(counts)).toEqual({
      serviceaccounts: COUNT,
      roles: COUNT,
      rolebindings: COUNT,
      deployments: COUNT,
      services: COUNT,
      // That it was seen, and the result.
      "codercontrolplanes/status": 2 * COUNT,
    });
  });

  test("took nothing that the ClusterRole does not allow", async () => {
    const refused = (await requests()).filter(({ code }) => code === 403);
    expect(refused.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  });

  test("then cause no request at all for an hour of the operator's clock", async () => {
    await eventually(() => expect(metrics.running).toBe(0), TIME_LIMIT);
    const { length } = await requests();
    clock.jump(HOUR_MS);
    await touchAll();
    const since = (await requests()).slice(length);
    expect(since.filter(({ verb }) => verb !== "watch").map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  });

  test("of which one that changes is served alone", async () => {
    const { length } = await requests();
    const ref = { namespace: namespaces[0] ?? "", name: "coder-0" };
    await person.mergePatch(CoderControlPlane, ref, { spec: { replicas: 2 } });
    await eventually(async () => {
      const { metadata, status } = await person.get(CoderControlPlane, ref);
      expect(status?.observedGeneration).toBe(metadata.generation);
    }, TIME_LIMIT);
    expect((await person.get(Deployment, ref)).spec?.replicas).toBe(2);
    const written = (await requests()).slice(length).filter(({ verb }) => verb !== "watch");
    expect(new Set(written.map(({ name }) => name))).toEqual(new Set(["coder-0"]));
  });
});

/** Gives the operator a reason to look at each of them, and waits until it did. */
async function touchAll(): Promise<void> {
  const before = metrics.runs;
  const touch = (_: unknown, index: number) =>
    person.mergePatch(
      CoderControlPlane,
      { namespace: namespaces[index % namespaces.length] ?? "", name: `coder-${index}` },
      { metadata: { annotations: { why: "an hour later" } } },
    );
  await Promise.all(Array.from({ length: COUNT }, touch));
  await eventually(() => expect(metrics.runs).toBeGreaterThanOrEqual(before + COUNT), TIME_LIMIT);
  await eventually(() => expect(metrics.running).toBe(0), TIME_LIMIT);
}
