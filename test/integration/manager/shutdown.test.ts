import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { type Client, Deployment, Lease } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OperatorProcess, startOperatorProcess } from "../../../lab/operator-process.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";

const TIME_LIMIT = { withinMs: 20_000 };
const GRACE_SECONDS = 2;

const cluster = sharedCluster();
let person: Client;
let namespace: string;
let database: Server;
let operator: OperatorProcess;
beforeAll(async () => {
  [person, namespace] = await Promise.all([adminClient(cluster), cluster.createNamespace("shutdown")]);
  // Takes connections and never says a word, so that the step which asks it hangs.
  database = createServer();
  database.listen(0, "127.0.0.1");
  await once(database, "listening");
  operator = await startOperatorProcess(cluster, [
    `--namespaces=${namespace}`,
    `--leader-election-namespace=${namespace}`,
    `--shutdown-grace-seconds=${GRACE_SECONDS}`,
  ]);
});
afterAll(async () => {
  database?.close();
  await operator?.[Symbol.asyncDispose]();
});

test("a step that hangs is aborted at the end of the grace period; until then probes respond and the Lease is renewed", async () => {
  const { port } = database.address() as AddressInfo;
  const value = `postgres://coder:none@127.0.0.1:${port}/coder?sslmode=disable`;
  const asked = once(database, "connection");
  const ref = { namespace, name: "coder" };
  await person.create(CoderControlPlane, {
    metadata: ref,
    spec: { extraEnv: [{ name: "CODER_PG_CONNECTION_URL", value }] },
  });
  await eventually(() => person.get(Deployment, ref), TIME_LIMIT);
  await cluster.markDeploymentReady(namespace, "coder");
  await asked;

  const stoppedAt = performance.now();
  operator.program.signal("SIGTERM");
  expect(await operator.isReady()).toBe(true);
  await operator.program.ended;
  expect(performance.now() - stoppedAt).toBeGreaterThan(GRACE_SECONDS * 1_000 - 100);
  expect(operator.program.exitCode).toBe(0);
  expect(operator.log.at(-1)?.msg).toBe("operator stopped");
  const lease = await person.get(Lease, { namespace, name: "coder-k8s-controller.coder.com" });
  expect(lease.spec?.holderIdentity).toBeFalsy();
});
