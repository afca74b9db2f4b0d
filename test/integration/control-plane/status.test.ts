import { Deployment } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "status");
});
afterAll(() => stage[Symbol.asyncDispose]());

describe("the phase", () => {
  const phaseOf = (name: string, phase: string) =>
    eventually(
      async () => {
        const { status } = await stage.controlPlane(name);
        expect(status?.phase).toBe(phase);
        return status;
      },
      { withinMs: 10_000 },
    );
  const unready = { replicas: 2, readyReplicas: 0, availableReplicas: 0, unavailableReplicas: 2 };

  test("changes from Pending to Ready and back with its pods", async () => {
    await stage.create("phases", { replicas: 2 });
    expect(await phaseOf("phases", "Pending")).toMatchObject({ readyReplicas: 0 });
    await stage.untilCondition("phases", "Ready", { status: "False", reason: "RollingOut" });

    await stage.cluster.markDeploymentReady(stage.namespace, "phases");
    expect(await phaseOf("phases", "Ready")).toMatchObject({ readyReplicas: 2 });
    await stage.untilCondition("phases", "DeploymentReady", { status: "True", reason: "AllReplicasReady" });
    await stage.untilCondition("phases", "Ready", { status: "True", reason: "Serving" });

    await stage.person.patchStatus(Deployment, stage.ref("phases"), { status: unready });
    expect(await phaseOf("phases", "Pending")).toMatchObject({ readyReplicas: 0 });
    await stage.untilCondition("phases", "Available", { status: "False", reason: "NoPodReady" });
    await stage.untilCondition("phases", "Ready", { status: "False" });
  });

  test("is Ready with one pod of several, while the condition Ready waits for all and says how many", async () => {
    await stage.create("some", { replicas: 2 });
    await stage.settled("some");
    await stage.person.patchStatus(Deployment, stage.ref("some"), {
      status: { ...unready, readyReplicas: 1, availableReplicas: 1, unavailableReplicas: 1 },
    });
    await phaseOf("some", "Ready");
    await stage.untilCondition("some", "Available", { status: "True" });
    const condition = await stage.untilCondition("some", "Ready", { status: "False", reason: "RollingOut" });
    expect(condition.message).toContain("1 are available");
  });

  test("a transition time is kept while the status of its condition is unchanged", async () => {
    await stage.create("times");
    const before = (await stage.settled("times")).status?.conditions ?? [];
    await stage.timePasses(60_000);
    await stage.change("times", { replicas: 2 });
    const after = (await stage.settled("times")).status?.conditions ?? [];
    expect(after.map(({ observedGeneration }) => observedGeneration)).toEqual(after.map(() => 2));
    expect(after.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(
      before.map(({ lastTransitionTime }) => lastTransitionTime),
    );
  });
});

test("kubectl get shows first whether it is ready and why, then ready pods, URL and age", async () => {
  await stage.create("columns");
  await stage.settled("columns");
  await stage.cluster.markDeploymentReady(stage.namespace, "columns");
  await stage.untilCondition("columns", "Ready", { status: "True" });
  const { stdout } = await stage.cluster.kubectl(["get", "ccp", "columns", "-n", stage.namespace]);
  const [header, row] = stdout.split("\n").map((line) => line.split(/\s{2,}/));
  expect(header).toEqual(["NAME", "READY", "REASON", "PODS", "URL", "LICENSE", "VERSION", "PAUSED", "AGE"]);
  expect(row?.slice(0, 5)).toEqual([
    "columns",
    "True",
    "Serving",
    "1/1",
    `http://columns.${stage.namespace}.svc.cluster.local:80`,
  ]);
  expect(row?.at(-1)).toMatch(/^\d+s$/);
  const wide = await stage.cluster.kubectl(["get", "ccp", "columns", "-n", stage.namespace, "-o", "wide"]);
  const [titles, cells] = wide.stdout.split("\n").map((line) => line.split(/\s{2,}/));
  expect(titles).toEqual(expect.arrayContaining(["PHASE", "ACCESS URL", "LICENSE ENDS"]));
  expect(cells).toContain(`http://columns.${stage.namespace}.svc.cluster.local`);
});
