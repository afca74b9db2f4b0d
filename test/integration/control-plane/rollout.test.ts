import { Deployment, Pod, type Stored } from "kube-controller-runtime";
import { type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "./stage.ts";

/*
 * Deployments, ReplicaSets, quotas and Pod Security are those of a real cluster. No kubelet runs: the tests write what
 * one reports about pods.
 */

const TIME_LIMIT = { withinMs: 30_000 };

let cluster: ClusterAccess;
let stage: Stage;
beforeAll(async () => {
  cluster = await sharedClusterWithControllers();
  stage = await openStage(cluster, "rollout");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** The pods of a control plane that run this image, as soon as there are any. */
function podsWith(name: string, image: string): Promise<Stored<Pod>[]> {
  return eventually(async () => {
    const { items } = await stage.person.list(Pod, {
      namespace: stage.namespace,
      labelSelector: `app.kubernetes.io/instance=${name}`,
    });
    const found = items.filter(({ spec }) => spec?.containers[0]?.image === image);
    expect(found).not.toEqual([]);
    return found;
  }, TIME_LIMIT);
}

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

/** Reports about the one container of pods what a kubelet does. */
async function report(pods: readonly Stored<Pod>[], state: Partial<ContainerStatus>): Promise<void> {
  for (const { metadata, spec } of pods) {
    const { name = "", image = "" } = spec?.containers[0] ?? {};
    const ready = state.ready ?? false;
    await stage.person.patchStatus(Pod, metadata, {
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
        containerStatuses: [{ name, image, imageID: image, ready, restartCount: 0, ...state }],
      },
    });
  }
}

async function makeReady(name: string, image: string): Promise<void> {
  await report(await podsWith(name, image), { ready: true, state: { running: {} } });
  await stage.untilCondition(name, "Ready", { status: "True" });
}

const backOff = {
  reason: "ImagePullBackOff",
  message: 'Back-off pulling image "coder:typo": ErrImagePull: manifest unknown',
};

describe("an image that does not exist", () => {
  test("makes Ready False with the cause while the pods of the old one serve, until it is corrected", async () => {
    await stage.create("coder", { image: "coder:one", upgrade: { strategy: "Rolling" } });
    await makeReady("coder", "coder:one");
    await stage.change("coder", { image: "coder:typo" });
    await stage.untilCondition("coder", "Ready", { status: "False", reason: "RollingOut" });
    await report(await podsWith("coder", "coder:typo"), { state: { waiting: backOff } });
    const { message } = await stage.untilCondition("coder", "Ready", { status: "False", reason: "Stalled" });
    expect(message).toMatch(
      /^Pod "coder-.*": image "coder:typo" cannot be pulled: manifest unknown\. Correct/,
    );
    await stage.untilCondition("coder", "Stalled", { status: "True" });
    const { status } = await stage.controlPlane("coder");
    expect(status).toMatchObject({ phase: "Ready", readyReplicas: 1 });
    await stage.untilCondition("coder", "Available", { status: "True" });
    const { code } = await cluster.kubectl([
      ...["wait", "ccp/coder", "-n", stage.namespace],
      ...["--for=condition=Ready", "--timeout=1s"],
    ]);
    expect(code).not.toBe(0);

    await stage.change("coder", { image: "coder:two" });
    await makeReady("coder", "coder:two");
    const healed = await stage.controlPlane("coder");
    expect(healed.status?.conditions?.map(({ type }) => type)).not.toContain("Stalled");
  });
});

test("a container that crashes shows exit code and last words, and a status changes only with its restarts", async () => {
  await stage.create("crashing", { image: "coder:crash" });
  const pods = await podsWith("crashing", "coder:crash");
  const lastState = { terminated: { exitCode: 3, reason: "Error", message: "no such host" } };
  await report(pods, { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState });
  const { message } = await stage.untilCondition("crashing", "Ready", { status: "False", reason: "Stalled" });
  expect(message).toContain('container "coder" crashes with exit code 3: no such host. See: kubectl');
  await stage.untilIdle();
  await report(pods, { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState, restartCount: 3 });
  await stage.eventually(async () => {
    const { status } = await stage.controlPlane("crashing");
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.message).toContain("3 restarts");
  });
  await stage.untilIdle();
  const before = await stage.controlPlane("crashing");
  for (const reason of ["CrashLoopBackOff", "ContainerCreating", "CrashLoopBackOff"])
    await report(pods, { state: { waiting: { reason } }, lastState, restartCount: 3 });
  await stage.untilIdle();
  expect((await stage.controlPlane("crashing")).metadata.resourceVersion).toBe(
    before.metadata.resourceVersion,
  );
});

test("pods that a quota refuses are named as the cause, and a higher quota resolves it", async () => {
  const tight = await openStage(cluster, "quota");
  try {
    await cluster.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "none", namespace: tight.namespace },
      spec: { hard: { pods: "0" } },
    });
    // What the controller of quotas counts, which does not run here.
    const counted = JSON.stringify({ status: { hard: { pods: "0" }, used: { pods: "0" } } });
    const quota = ["quota", "none", "-n", tight.namespace];
    await cluster.kubectl(["patch", ...quota, "--subresource=status", "--type=merge", "-p", counted]);
    await tight.create("coder");
    const { message } = await tight.untilCondition("coder", "Ready", { status: "False", reason: "Stalled" });
    expect(message).toContain("Pods cannot be created: a pod is forbidden: exceeded quota: none");
    await cluster.kubectl(["delete", "resourcequota", "none", "-n", tight.namespace]);
    await tight.untilCondition("coder", "Ready", { status: "False", reason: "RollingOut" });
  } finally {
    await tight[Symbol.asyncDispose]();
  }
});

test("pods that Pod Security refuses are named as the cause, with the level", async () => {
  const strict = await openStage(cluster, "restricted");
  try {
    const level = "pod-security.kubernetes.io/enforce=restricted";
    await cluster.kubectl(["label", "namespace", strict.namespace, level]);
    await strict.create("coder");
    const { message } = await strict.untilCondition("coder", "Ready", { status: "False", reason: "Stalled" });
    expect(message).toContain('violates PodSecurity "restricted:latest"');
  } finally {
    await strict[Symbol.asyncDispose]();
  }
});

test("a Deployment that another client scales does not make a control plane stall", async () => {
  await stage.create("scaled", { image: "coder:scaled" });
  await makeReady("scaled", "coder:scaled");
  await stage.person.mergePatch(Deployment, stage.ref("scaled"), { spec: { replicas: 2 } });
  await eventually(async () => {
    const { spec } = await stage.get(Deployment, "scaled");
    expect(spec?.replicas).toBe(1);
  }, TIME_LIMIT);
  await stage.untilCondition("scaled", "Ready", { status: "True" });
});
