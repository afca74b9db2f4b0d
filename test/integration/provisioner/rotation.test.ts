import { Service } from "kube-controller-runtime";
import { type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CoderdDeployment, ProvisionerKey } from "../../../lab/coderd/deployment.ts";
import { PodRunner } from "../../../lab/pod-runner/pod-runner.ts";
import { simulatedCoder } from "../../../lab/pod-runner/simulated-coder.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { openRealWorld } from "../../support/world/real.ts";

const REPLICAS = 2;
const ROLLOUT = { withinMs: 90_000 };
const LOOK_EVERY_MS = 10;

let cluster: ClusterAccess;
let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeAll(async () => {
  cluster = await sharedClusterWithControllers();
  stage = await openStage(await openRealWorld(cluster), "rotation");
  coderd = await stage.controlPlane();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** PollState, from the moment when all daemons are connected, whether there is ever a moment without one. */
class Watch implements Disposable {
  readonly outages: string[] = [];
  readonly #timer = setInterval(() => this.#look(), LOOK_EVERY_MS);

  #look(): void {
    const { daemons, keys } = coderd;
    if (!daemons.some(({ key }) => keys.includes(key)))
      this.outages.push(`no daemon is connected; keys: ${keys.map(({ name }) => name).join(", ")}`);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Notes, at each deletion of a key, which keys the connected daemons had. */
function noteDeletions(): { deleted: string; connected: string[] }[] {
  const notes: { deleted: string; connected: string[] }[] = [];
  const deleteKey = coderd.deleteKey.bind(coderd);
  coderd.deleteKey = (key: ProvisionerKey) => {
    const connected = coderd.daemons.map((daemon) => daemon.key.name);
    notes.push({ deleted: key.name, connected });
    deleteKey(key);
  };
  return notes;
}

function untilServedBy(name: string): Promise<ProvisionerKey> {
  return eventually(async () => {
    const { status } = await stage.get(CoderProvisioner, name);
    const key = coderd.keys.find(({ id }) => id === status?.provisionerKeyID);
    expect(coderd.keys).toEqual([key]);
    expect(coderd.daemons).toHaveLength(REPLICAS);
    for (const daemon of coderd.daemons) expect(daemon.key.id).toBe(key?.id);
    return key ?? expect.fail("no key");
  }, ROLLOUT);
}

describe("with real rollouts", () => {
  test("a rotation always keeps a daemon, and the old key is deleted only when all new daemons are connected", {
    timeout: 240_000,
  }, async () => {
    await using _kubelet = new PodRunner({
      client: stage.person,
      launch: simulatedCoder(coderd),
      namespaces: [stage.namespace],
    });
    await stage.create("pool", { replicas: REPLICAS, terminationGracePeriodSeconds: 1 });
    const first = await untilServedBy("pool");
    await stage.untilCondition("pool", "DeploymentReady", { reason: "AllReplicasReady" });
    const deletions = noteDeletions();
    using watch = new Watch();

    await stage.change("pool", { tags: { a: "2" } });
    const second = await eventually(async () => {
      const key = await untilServedBy("pool");
      expect(key.id).not.toBe(first.id);
      return key;
    }, ROLLOUT);
    expect(second.tags).toEqual({ a: "2" });
    expect(deletions).toEqual([{ deleted: first.name, connected: expect.anything() }]);
    const usingNew = deletions[0]?.connected.filter((name) => name === second.name);
    expect(usingNew).toHaveLength(REPLICAS);
    expect(watch.outages).toEqual([]);
  });

  test("a namespace that is deleted takes its provisioners along, and their keys", async () => {
    await using doomed = await openStage(await openRealWorld(cluster), "doomed");
    const elsewhere = await doomed.controlPlane();
    await using _kubelet = new PodRunner({
      client: doomed.person,
      launch: simulatedCoder(elsewhere),
      namespaces: [doomed.namespace],
    });
    await doomed.create("pool", { terminationGracePeriodSeconds: 1 });
    await doomed.untilSettled("pool");
    expect(elsewhere.keys).toHaveLength(1);
    // A namespace ends in no particular order, and coderd is unreachable without its Service: the Service is deleted last.
    const holdServices = async (finalizers: readonly string[]) => {
      const { items } = await doomed.person.list(Service, { namespace: doomed.namespace });
      for (const { metadata } of items)
        await doomed.person.mergePatch(Service, metadata, { metadata: { finalizers } });
    };
    await holdServices(["example.com/last"]);
    await cluster.kubectl(["delete", "namespace", doomed.namespace, "--wait=false"]);
    await doomed.untilGone(CoderProvisioner, "pool");
    expect(elsewhere.keys).toEqual([]);
    await holdServices([]);
    await eventually(async () => {
      const { stderr } = await cluster.kubectl(["get", "namespace", doomed.namespace]);
      expect(stderr).toContain("NotFound");
    }, ROLLOUT);
  });
});
