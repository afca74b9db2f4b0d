import { CoreEvent, Deployment, Service, type Stored } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "./stage.ts";

const unready = { replicas: 1, readyReplicas: 0, availableReplicas: 0, unavailableReplicas: 1 };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "events");
});
afterAll(() => stage[Symbol.asyncDispose]());

async function eventsAbout(name: string): Promise<Stored<CoreEvent>[]> {
  const fieldSelector = `involvedObject.kind=CoderControlPlane,involvedObject.name=${name}`;
  return [...(await stage.person.list(CoreEvent, { namespace: stage.namespace, fieldSelector })).items];
}

/** Waits for an event of that reason, which must be the only one. */
function untilTold(name: string, reason: string): Promise<Stored<CoreEvent>> {
  return stage.eventually(async () => {
    const found = (await eventsAbout(name)).filter((event) => event.reason === reason);
    expect(found).toHaveLength(1);
    return found[0] as Stored<CoreEvent>;
  });
}

async function loseAllPods(name: string): Promise<void> {
  await stage.person.patchStatus(Deployment, stage.ref(name), { status: unready });
  await stage.untilCondition(name, "Ready", { status: "False" });
}

async function getPods(name: string): Promise<void> {
  await stage.cluster.markDeploymentReady(stage.namespace, name);
  await stage.untilCondition(name, "Ready", { status: "True" });
}

describe("kubectl describe", () => {
  test("shows the life of a control plane: made, serving, lost, serving again", async () => {
    await stage.create("life");
    await untilTold("life", "Created");
    await getPods("life");
    await untilTold("life", "Serving");
    await loseAllPods("life");
    await untilTold("life", "NoPodReady");
    await untilTold("life", "RollingOut");
    const { stdout } = await stage.cluster.kubectl(["describe", "ccp", "life", "-n", stage.namespace]);
    const [, events = ""] = stdout.split("\nEvents:");
    const reported = events
      .split("\n")
      .slice(3)
      .map((line) => line.trim().split(/\s{2,}/))
      .filter((columns) => columns.length > 1)
      .map(([type, reason, , from]) => [type, reason, from]);
    expect(reported.toSorted()).toEqual([
      ["Normal", "Created", "coder-k8s"],
      ["Normal", "RollingOut", "coder-k8s"],
      ["Normal", "Serving", "coder-k8s"],
      ["Warning", "BuiltInDatabase", "coder-k8s"],
      ["Warning", "NoPodReady", "coder-k8s"],
    ]);
  });

  test("shows what is blocked and why, and when that ends", async () => {
    const ownerReferences = [
      { apiVersion: "apps/v1", kind: "StatefulSet", name: "rival", uid: "0-1-2-3", controller: true },
    ];
    const metadata = { ...stage.ref("blocked"), ownerReferences };
    await stage.person.create(Service, { metadata, spec: { ports: [{ port: 1 }] } });
    await stage.create("blocked");
    const blocked = await untilTold("blocked", "ServiceNotOurs");
    expect(blocked).toMatchObject({ type: "Warning", source: { component: "coder-k8s" } });
    expect(blocked.message).toContain('StatefulSet "rival"');
    await stage.person.delete(Service, stage.ref("blocked"));
    await stage.change("blocked", { replicas: 2 });
    expect(await untilTold("blocked", "Applied")).toMatchObject({ type: "Normal" });
  });
});

test("a control plane that flaps has one event of each kind, with a count", async () => {
  await stage.create("flapping");
  await stage.settled("flapping");
  for (let round = 0; round < 5; round++) {
    await getPods("flapping");
    await loseAllPods("flapping");
  }
  // A series is gathered for a while before its number is written.
  await stage.timePasses(5_000);
  await stage.eventually(async () => {
    const counts = (await eventsAbout("flapping")).map(({ reason, count }) => [reason, count]);
    expect(counts.toSorted()).toEqual([
      ["BuiltInDatabase", 1],
      ["Created", 1],
      ["NoPodReady", 5],
      ["PodsReady", 4],
      ["RollingOut", 5],
      ["Serving", 5],
    ]);
  });
});
