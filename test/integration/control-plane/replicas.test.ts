import { type Client, Deployment, Lease } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { type OperatorProcess, startOperatorProcess } from "../../../lab/operator-process.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";

const TIME_LIMIT = { withinMs: 20_000 };
const LEASE = "coder-k8s-controller.coder.com";
const LEASE_SECONDS = 15;
const SHORT_LEASE_SECONDS = 3;

const cluster = sharedCluster();
let person: Client;
let namespace: string;
let leader: OperatorProcess;
let standby: OperatorProcess;
beforeAll(async () => {
  [person, namespace] = await Promise.all([adminClient(cluster), cluster.createNamespace("replicas")]);
  leader = await start();
  await eventually(() => expect(leader.isLeader).toBe(true), TIME_LIMIT);
  standby = await start();
});
afterAll(async () => {
  await leader?.[Symbol.asyncDispose]();
  await standby?.[Symbol.asyncDispose]();
});

function start(): Promise<OperatorProcess> {
  return startOperatorProcess(cluster, [
    `--namespaces=${namespace}`,
    `--leader-election-namespace=${namespace}`,
  ]);
}

async function lease(): Promise<Lease["spec"]> {
  return (await person.get(Lease, { namespace, name: LEASE })).spec;
}

/** The holders of the Lease since a version of it, one for each write, up to the one that acquired it when it was free. */
async function holdersSince(resourceVersion: string): Promise<string[]> {
  const holders: string[] = [];
  const options = { namespace, resourceVersion, timeoutSeconds: 30, idleTimeoutMs: 30_000 };
  for await (const { object } of person.watch(Lease, options)) {
    holders.push(object.spec?.holderIdentity || "no one");
    if (holders.at(-2) === "no one") break;
  }
  return holders;
}

function served(name: string): Promise<unknown> {
  return eventually(() => person.get(Deployment, { namespace, name }), TIME_LIMIT);
}

// One story in order: the standby of one test is the leader of the next.
describe("two replicas", () => {
  test("have one leader, and the standby is as ready as the leader", async () => {
    expect([leader.isLeader, standby.isLeader]).toEqual([true, false]);
    expect([await leader.isReady(), await standby.isReady()]).toEqual([true, true]);
    const { spec } = await person.get(Lease, { namespace, name: LEASE });
    expect(spec?.holderIdentity).toMatch(/^coder-k8s-/);
    expect(spec?.leaseDurationSeconds).toBe(LEASE_SECONDS);
    await person.create(CoderControlPlane, aControlPlane({ namespace, name: "one" }));
    await served("one");
  });

  test("show by their metrics who leads and works", async () => {
    const worked = /^coder_k8s_reconcile_total\{controller="control-plane",result="success"\} [1-9]/m;
    await eventually(async () => expect(await leader.metrics()).toMatch(worked), TIME_LIMIT);
    expect(await leader.metrics()).toMatch(/^coder_k8s_leader 1$/m);
    expect(await leader.metrics()).toMatch(
      /^coder_k8s_object_phase\{kind="CoderControlPlane",.*,name="one",/m,
    );
    const waiting = await standby.metrics();
    expect(waiting).not.toMatch(worked);
    expect(waiting).toMatch(/^coder_k8s_leader 0$/m);
    expect(waiting).not.toMatch(/^coder_k8s_object_phase\{/m);
  });

  test("hand over without waiting for the Lease when the leader is stopped", async () => {
    const { metadata, spec } = await person.get(Lease, { namespace, name: LEASE });
    await leader.stop("SIGTERM");
    expect(leader.log.at(-1)?.msg).toBe("operator stopped");
    await eventually(() => expect(standby.isLeader).toBe(true), TIME_LIMIT);
    const holders = new Set([spec?.holderIdentity, ...(await holdersSince(metadata.resourceVersion))]);
    expect([...holders]).toEqual([spec?.holderIdentity, "no one", (await lease())?.holderIdentity]);
    await person.create(CoderControlPlane, aControlPlane({ namespace, name: "two" }));
    await served("two");
  });

  test("hand over after the lease has run out when the leader is killed, and not before", async () => {
    [leader, standby] = [standby, await start()];
    await leader.stop("SIGKILL");
    // The holder of a Lease sets its duration; a standby counts from when it sees the Lease.
    const changedAt = Date.now();
    const spec = { leaseDurationSeconds: SHORT_LEASE_SECONDS };
    await person.mergePatch(Lease, { namespace, name: LEASE }, { spec });
    await person.create(CoderControlPlane, aControlPlane({ namespace, name: "three" }));
    await eventually(() => expect(standby.isLeader).toBe(true), TIME_LIMIT);
    const { acquireTime = "" } = (await lease()) ?? {};
    expect(Date.parse(acquireTime) - changedAt).toBeGreaterThanOrEqual(SHORT_LEASE_SECONDS * 1_000);
    await served("three");
  });

  test("whose leader loses the lease to another client ends the leader's process", async () => {
    const metadata = {
      resourceVersion: (await person.get(Lease, { namespace, name: LEASE })).metadata.resourceVersion,
    };
    const spec = { holderIdentity: "another-client", renewTime: "2100-01-01T00:00:00.000000Z" };
    await person.mergePatch(Lease, { namespace, name: LEASE }, { metadata, spec });
    await eventually(() => expect(standby.program.running).toBe(false), TIME_LIMIT);
    expect(standby.program.logTail()).toContain("the lease was acquired by another-client");
  });
});
