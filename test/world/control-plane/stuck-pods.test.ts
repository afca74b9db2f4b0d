import { CoreEvent, Deployment, findCondition, Pod, timestamp } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commonLabels } from "../../../src/operator/names.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const SECOND = 1_000;
const POD = "coder-6f-1";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("stuck");
  await stage.create("coder", {});
  await stage.eventually(() => stage.get(Deployment, "coder"));
  const { metadata } = await stage.get(Deployment, "coder");
  const status = { observedGeneration: metadata.generation, replicas: 1, updatedReplicas: 1 };
  await stage.person.patchStatus(Deployment, stage.ref("coder"), { status });
});
afterEach(() => stage[Symbol.asyncDispose]());

const scheduled = (at: number) => ({
  type: "PodScheduled",
  status: "True",
  lastTransitionTime: timestamp(at),
});

async function startPod(status: object): Promise<string> {
  const identity = { name: "coder", namespace: stage.namespace, uid: "" };
  const labels = commonLabels({ app: "coder-control-plane", identity });
  const set = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "coder-6f", uid: "1", controller: true };
  const { metadata } = await stage.person.create(Pod, {
    metadata: { ...stage.ref(POD), labels, ownerReferences: [set] },
    spec: { containers: [{ name: "coder", image: "coder:tests" }] },
  });
  await stage.person.patchStatus(Pod, stage.ref(POD), { status });
  return metadata.uid;
}

/** As a kubelet writes it. */
async function warn(uid: string, reason: string, message: string): Promise<void> {
  await stage.person.create(CoreEvent, {
    metadata: stage.ref(`${POD}.${reason.toLowerCase()}`),
    involvedObject: { kind: "Pod", name: POD, namespace: stage.namespace, uid },
    type: "Warning",
    reason,
    message,
    lastTimestamp: timestamp(stage.clock.now()),
  });
}

const ready = async () => findCondition((await stage.status("coder")).conditions, "Ready");

async function pass(seconds: number): Promise<void> {
  const until = stage.clock.now() + seconds * SECOND;
  await stage.eventually(() => expect(stage.clock.now()).toBeGreaterThanOrEqual(until), {
    withinMs: seconds * SECOND,
  });
}

const creating = () => ({
  phase: "Pending",
  conditions: [scheduled(stage.clock.now()), { type: "Ready", status: "False" }],
  containerStatuses: [
    {
      ...{ name: "coder", image: "i", imageID: "", ready: false, restartCount: 0 },
      state: { waiting: { reason: "ContainerCreating" } },
    },
  ],
});

test.each([
  [
    "FailedMount",
    'MountVolume.SetUp failed for volume "web" : secret "web" not found',
    `a volume cannot be mounted: MountVolume.SetUp failed for volume "web" : secret "web" not found. Create what is missing`,
  ],
  [
    "FailedCreatePodSandBox",
    "Failed to create pod sandbox: no address left",
    "its node cannot create it: Failed to create pod sandbox: no address left. Check the network plugin",
  ],
])(
  "a pod that waits for its containers is explained by its event %s within 10 s",
  async (reason, message, said) => {
    await warn(await startPod(creating()), reason, message);
    await pass(3);
    expect(await ready()).toMatchObject({ reason: "RollingOut" });
    await pass(5);
    expect(await ready()).toMatchObject({ status: "False", reason: "Stalled" });
    expect((await ready())?.message).toContain(said);
  },
);

test("a later event is found, and no longer reported when it is old", async () => {
  const uid = await startPod(creating());
  await pass(30);
  expect(await ready()).toMatchObject({ reason: "RollingOut" });
  await warn(uid, "FailedMount", "no such volume");
  await pass(20);
  expect(await ready()).toMatchObject({ reason: "Stalled" });
  await pass(7 * 60);
  expect(await ready()).toMatchObject({ reason: "RollingOut" });
});

test("a probe that fails is a cause after two minutes, not while a program starts", async () => {
  const startedAt = timestamp(stage.clock.now());
  const [container] = creating().containerStatuses;
  const uid = await startPod({
    ...creating(),
    phase: "Running",
    containerStatuses: [{ ...container, state: { running: { startedAt } } }],
  });
  await warn(uid, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503");
  await pass(100);
  expect(await ready()).toMatchObject({ reason: "RollingOut" });
  await pass(40);
  expect((await ready())?.message).toContain(
    "its container is running but fails its probe: Readiness probe failed: HTTP probe failed with statuscode: 503. Check",
  );
});

test("events are requested only while a pod is stuck, with backoff", async () => {
  const asked = () =>
    stage.operator.transport.requests.filter(({ path }) => path.includes("/events?")).length;
  await startPod(creating());
  await pass(10 * 60);
  expect(asked()).toBeGreaterThan(5);
  expect(asked()).toBeLessThan(25);
  await stage.person.patchStatus(Pod, stage.ref(POD), {
    status: { conditions: [scheduled(0), { type: "Ready", status: "True" }] },
  });
  const before = asked();
  await pass(10 * 60);
  expect(asked()).toBe(before);
});
