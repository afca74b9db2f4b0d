import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Client, Deployment, Lease, Service } from "kube-controller-runtime";
import { type AuditRequest, adminClient, Dice, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { type OperatorProcess, startOperatorProcess } from "../../../lab/operator-process.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { STOPPED_AT } from "../../support/stopping-operator/marker.ts";
import { openFixture } from "./stopping-fixture.ts";

const TIME_LIMIT = { withinMs: 20_000 };
/** The lease, the time between two looks at it, and a busy machine. */
const TAKE_OVER = { withinMs: 40_000 };

const STOPS_ITSELF = fileURLToPath(new URL("../../support/stopping-operator/main.ts", import.meta.url));

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
  const stopAt = "--stop-at=PATCH .*/services/coder";
  stopped = await start([`--kubeconfig=${cluster.replica.kubeconfig}`, stopAt], STOPS_ITSELF);
  await eventually(() => expect(stopped.isLeader).toBe(true), TIME_LIMIT);
  other = await start();
});
afterAll(async () => {
  await stopped?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
});

function start(flags: readonly string[] = [], entry?: string): Promise<OperatorProcess> {
  const scope = [`--namespaces=${namespace}`, `--leader-election-namespace=${namespace}`];
  return startOperatorProcess(cluster, [...scope, ...flags], entry);
}

const ref = () => ({ namespace, name: "coder" });

async function replicas(count: number): Promise<void> {
  await eventually(
    async () => expect((await person.get(Deployment, ref())).spec?.replicas).toBe(count),
    TIME_LIMIT,
  );
}

async function writesOfStopped(): Promise<AuditRequest[]> {
  return (await cluster.auditRequests()).filter(
    ({ user, verb, namespace: where }) =>
      user === cluster.replica.user && where === namespace && !["get", "list", "watch"].includes(verb),
  );
}

// All of it waits for the same ten seconds and more, so it waits at the same time.
test.concurrent("a leader that is stopped while a write waits for its connection never sends it once another leads", {
  timeout: 120_000,
}, async () => {
  await person.create(CoderControlPlane, aControlPlane({ namespace }));
  await eventually(() => expect(stopped.output).toContain(STOPPED_AT), TIME_LIMIT);
  await eventually(() => expect(other.isLeader).toBe(true), TAKE_OVER);
  await person.mergePatch(CoderControlPlane, ref(), { spec: { replicas: 2 } });
  await replicas(2);

  const before = (await writesOfStopped()).length;
  expect(before).toBeGreaterThan(0);
  // All of this waits in its connections, and is work for a process that assumes to be the leader.
  await person.delete(Service, ref());
  await person.mergePatch(CoderControlPlane, ref(), { spec: { replicas: 3 } });
  await replicas(3);
  await eventually(() => person.get(Service, ref()), TIME_LIMIT);
  const { spec: lease } = await person.get(Lease, { namespace, name: "coder-k8s-controller.coder.com" });
  stopped.program.signal("SIGCONT");
  await stopped.program.ended;

  expect(stopped.program.exitCode).toBe(1);
  const last = { level: "error", msg: "operator failed", error: { type: "NotLeaderError" } };
  expect(stopped.log.at(-1), "the last line of its log").toMatchObject(last);
  const late = (await writesOfStopped()).slice(before);
  const received = late.map(({ at, verb, uri }) => `${at.toISOString()} ${verb} ${uri}`);
  expect(received, `another process has led since ${lease?.acquireTime}`).toEqual([]);
  expect(other.program.running).toBe(true);
});

/** A process that could not renew for this time has lost; the rest is for a busy machine. */
const PAST_DEADLINE_MS = 10_500;
const { POINTS = "2", SEED = "18" } = process.env;
const dice = new Dice(Number(SEED));
const drawn = Array.from({ length: Number(POINTS) }, () => `#${dice.whole(1, 60)}`);

describe.concurrent("a leader that stops past its deadline", () => {
  test.for(["PATCH .*/deployments/coder", "POST .*/provisionerkeys", "SQL INSERT INTO .*api_keys", ...drawn])(
    "at act %s sends nothing more to Kubernetes, coderd or Postgres",
    { timeout: 180_000 },
    async (stopAt) => {
      await using fixture = await openFixture(cluster, stopAt);
      await fixture.load();
      await fixture.untilStopped(60_000);
      await sleep(PAST_DEADLINE_MS);
      const before = await fixture.sent();
      fixture.operator.program.signal("SIGCONT");
      await fixture.operator.program.ended;
      expect(fixture.operator.program.exitCode).toBe(1);
      expect(await fixture.sent()).toEqual(before);
    },
  );
});
