import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { Client } from "../../../src/runtime/client/client.ts";
import { Deployment, Service } from "../../../src/runtime/kinds.ts";
import { adminClient } from "../../support/admin-client.ts";
import { aControlPlane } from "../../support/builders.ts";
import type { AuditRequest } from "../../support/cluster/audit.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { eventually } from "../../support/eventually.ts";
import { type OperatorProcess, startOperatorProcess } from "../../support/operator-process.ts";

const PATIENCE = { withinMs: 20_000 };
/** The lease, the time between two looks at it, and a busy machine. */
const TAKE_OVER = { withinMs: 40_000 };

const cluster = sharedCluster();
let person: Client;
let namespace: string;
let stopped: OperatorProcess;
let other: OperatorProcess;
beforeAll(async () => {
  [person, namespace] = await Promise.all([adminClient(cluster), cluster.createNamespace("stopped")]);
  await cluster.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "coder-k8s-replica" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "coder-k8s" },
    subjects: [{ kind: "User", name: cluster.replica.user }],
  });
  stopped = await start(cluster.replica.kubeconfig);
  await eventually(() => expect(stopped.isLeader).toBe(true), PATIENCE);
  other = await start(cluster.operator.kubeconfig);
});
afterAll(async () => {
  await stopped?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
});

function start(kubeconfig: string): Promise<OperatorProcess> {
  return startOperatorProcess(cluster, [
    `--kubeconfig=${kubeconfig}`,
    `--namespaces=${namespace}`,
    `--leader-election-namespace=${namespace}`,
  ]);
}

const ref = () => ({ namespace, name: "coder" });

async function replicas(count: number, patience = PATIENCE): Promise<void> {
  await eventually(
    async () => expect((await person.get(Deployment, ref())).spec?.replicas).toBe(count),
    patience,
  );
}

async function writesOfStopped(): Promise<AuditRequest[]> {
  return (await cluster.auditRequests()).filter(
    ({ user, verb, namespace: where }) =>
      user === cluster.replica.user && where === namespace && !["get", "list", "watch"].includes(verb),
  );
}

test("a leader that is stopped past its lease and wakes writes nothing more, and ends with an error", {
  timeout: 120_000,
}, async () => {
  await person.create(CoderControlPlane, aControlPlane({ namespace }));
  await replicas(1);
  stopped.program.signal("SIGSTOP");
  await person.mergePatch(CoderControlPlane, ref(), { spec: { replicas: 2 } });
  await replicas(2, TAKE_OVER);
  expect(other.isLeader).toBe(true);

  const before = (await writesOfStopped()).length;
  expect(before).toBeGreaterThan(0);
  // All of this waits in its connections, and is work to whoever takes itself for the leader.
  await person.delete(Service, ref());
  await person.mergePatch(CoderControlPlane, ref(), { spec: { replicas: 3 } });
  await replicas(3);
  await eventually(() => person.get(Service, ref()), PATIENCE);
  stopped.program.signal("SIGCONT");
  await stopped.program.ended;

  expect(stopped.program.exitCode).toBe(1);
  expect(stopped.program.logTail()).toContain("the lease was not renewed in time");
  expect((await writesOfStopped()).slice(before).map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  expect(other.program.running).toBe(true);
});
