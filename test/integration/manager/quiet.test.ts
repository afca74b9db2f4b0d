import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { Client } from "../../../src/runtime/client/client.ts";
import { Deployment } from "../../../src/runtime/kinds.ts";
import { adminClient } from "../../support/admin-client.ts";
import { aControlPlane } from "../../support/builders.ts";
import { type LocalCluster, startCluster } from "../../support/cluster/cluster.ts";
import { eventually } from "../../support/eventually.ts";
import { type OperatorProcess, startOperatorProcess } from "../../support/operator-process.ts";

const PATIENCE = { withinMs: 30_000 };
const CHANGES = 100;

let cluster: LocalCluster;
let person: Client;
let operator: OperatorProcess;
beforeAll(async () => {
  cluster = await startCluster({ audit: true, operatorInstalled: true });
  person = await adminClient(cluster);
  operator = await startOperatorProcess(cluster, ["--no-leader-elect"]);
});
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

/** Runs, and requests other than watches, as the operator and as the API server counted them. */
async function counts() {
  const [exposition, requests] = await Promise.all([operator.metrics(), cluster.auditRequests()]);
  const sum = (name: RegExp) =>
    [...exposition.matchAll(name)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    runs: sum(/^coder_k8s_reconcile_total\{controller="control-plane",.*\} (\d+)$/gm),
    sent: sum(/^coder_k8s_api_requests_total\{verb="(?!watch").*\} (\d+)$/gm),
    received: requests.filter(({ user, verb }) => user === cluster.operator.user && verb !== "watch").length,
  };
}

test(`${CHANGES} runs that find nothing to do make no request`, { timeout: 120_000 }, async () => {
  const namespace = await cluster.createNamespace("quiet");
  const ref = { namespace, name: "coder" };
  await person.create(CoderControlPlane, aControlPlane({ namespace }));
  await eventually(async () => {
    const { metadata, status } = await person.get(CoderControlPlane, ref);
    expect(status?.observedGeneration).toBe(metadata.generation);
  }, PATIENCE);
  // Events are gathered for five seconds before they are written.
  await sleep(7_000);

  const before = await counts();
  for (let change = 0; change < CHANGES; change++) {
    await person.mergePatch(Deployment, ref, { metadata: { annotations: { "example.com/n": `${change}` } } });
    await eventually(async () => expect((await counts()).runs).toBe(before.runs + change + 1), PATIENCE);
  }
  const after = await counts();
  expect(before.sent).toBeGreaterThan(0);
  expect(before.received).toBeGreaterThan(0);
  expect({ ...after, runs: 0 }).toEqual({ ...before, runs: 0 });
});
