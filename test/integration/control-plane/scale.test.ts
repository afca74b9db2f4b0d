import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { Client } from "../../../src/runtime/client/client.ts";
import { Deployment } from "../../../src/runtime/kinds.ts";
import { adminClient } from "../../support/admin-client.ts";
import type { AuditRequest } from "../../support/cluster/audit.ts";
import { type LocalCluster, startCluster } from "../../support/cluster/cluster.ts";
import { eventually } from "../../support/eventually.ts";
import { type OperatorProcess, startOperatorProcess } from "../../support/operator-process.ts";
import { childKinds } from "./dump.ts";

const COUNT = 200;
const QUIET_MS = 60_000;

let cluster: LocalCluster;
let person: Client;
let namespaces: string[];
let operator: OperatorProcess;
beforeAll(async () => {
  cluster = await startCluster({ audit: true, operatorInstalled: true });
  person = await adminClient(cluster);
  namespaces = await Promise.all(Array.from({ length: 4 }, () => cluster.createNamespace("many")));
  operator = await startOperatorProcess(cluster, []);
});
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

/** What the operator asked of the API server, except for its Lease. */
async function requests(): Promise<AuditRequest[]> {
  return (await cluster.auditRequests()).filter(
    ({ user, resource, stage }) =>
      user === cluster.operator.user && resource !== "leases" && stage === "ResponseComplete",
  );
}

describe(`${COUNT} control planes created at once`, () => {
  test("all converge", { timeout: 180_000 }, async () => {
    const create = (_: unknown, index: number) =>
      person.create(CoderControlPlane, {
        metadata: { namespace: namespaces[index % namespaces.length] ?? "", name: `coder-${index}` },
        spec: {},
      });
    await Promise.all(Array.from({ length: COUNT }, create));
    await eventually(
      async () => {
        const { items } = await person.list(CoderControlPlane);
        const reported = items.filter(
          ({ status, metadata }) => status?.observedGeneration === metadata.generation && status?.phase,
        );
        expect(reported).toHaveLength(COUNT);
      },
      { withinMs: 150_000 },
    );
    const labelSelector = "app.kubernetes.io/managed-by=coder-k8s";
    const lists = await Promise.all(childKinds.map((kind) => person.list(kind, { labelSelector })));
    const counts = lists.map(({ items }, index) => [childKinds[index]?.kind, items.length]);
    expect(Object.fromEntries(counts)).toEqual({
      ServiceAccount: COUNT,
      Role: COUNT,
      RoleBinding: COUNT,
      Deployment: COUNT,
      Service: COUNT,
      Ingress: 0,
    });
  });

  test("took one write for each child and one for each status, apart from events", async () => {
    const written = (await requests()).filter(
      ({ verb, resource }) => !["get", "list", "watch"].includes(verb) && resource !== "events",
    );
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
      "codercontrolplanes/status": COUNT,
    });
  });

  test("took nothing that the ClusterRole does not allow", async () => {
    const refused = (await requests()).filter(({ code }) => code === 403);
    expect(refused.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  });

  test("then cause no write at all for a minute", { timeout: QUIET_MS + 60_000 }, async () => {
    await untilEventsAreWritten();
    const { length } = await requests();
    await sleep(QUIET_MS);
    const since = (await requests()).slice(length);
    expect(since.filter(({ verb }) => verb !== "watch").map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
    expect(operator.program.running).toBe(true);
  });

  test("of which one that changes is served at once", async () => {
    const ref = { namespace: namespaces[0] ?? "", name: "coder-0" };
    await person.mergePatch(CoderControlPlane, ref, { spec: { replicas: 2 } });
    await eventually(async () => expect((await person.get(Deployment, ref)).spec?.replicas).toBe(2), {
      withinMs: 3_000,
    });
  });
});

/** Events are told after the fact, a few at a time. */
async function untilEventsAreWritten(): Promise<void> {
  const events = async () => (await requests()).filter(({ resource }) => resource === "events").length;
  for (let before = -1, now = await events(); before !== now; now = await events()) {
    before = now;
    await sleep(2_000);
  }
}
