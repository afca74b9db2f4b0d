import { type Condition, Deployment, findCondition, Pod } from "kube-controller-runtime";
import { rolledOutStatus } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commonLabels } from "../../../src/operator/names.ts";
import { endedStatus, runningStatus } from "../../support/pod-statuses.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const SECOND = 1_000;

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("truth");
});
afterEach(() => stage[Symbol.asyncDispose]());

const POD = "coder-6f-1";

async function startPod(): Promise<void> {
  const identity = { name: "coder", namespace: stage.namespace, uid: "" };
  const labels = commonLabels({ app: "coder-control-plane", identity });
  const set = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "coder-6f", uid: "1", controller: true };
  await stage.person.create(Pod, {
    metadata: { ...stage.ref(POD), labels, ownerReferences: [set] },
    spec: { containers: [{ name: "coder", image: "coder:tests" }] },
  });
  await stage.person.patchStatus(Pod, stage.ref(POD), { status: runningStatus(stage.clock.now()) });
}

/** What the controller of Deployments reports of a template that was rolled out before. */
async function count(available: number): Promise<void> {
  const { metadata } = await stage.get(Deployment, "coder");
  const conditions = [{ type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" }];
  const counts = { readyReplicas: available, availableReplicas: available };
  const status = { ...rolledOutStatus(metadata.generation ?? 0, 1), ...counts, conditions };
  await stage.person.patchStatus(Deployment, stage.ref("coder"), { status });
}

async function pass(seconds: number): Promise<void> {
  const until = stage.clock.now() + seconds * SECOND;
  await stage.eventually(() => expect(stage.clock.now()).toBeGreaterThanOrEqual(until), {
    withinMs: seconds * SECOND,
  });
}

const condition = async (type: string): Promise<Condition | undefined> =>
  findCondition((await stage.status("coder")).conditions, type);

test("coderd that crashes again and again is stalled with a Warning, also in the moments in which it serves", async () => {
  await stage.serve("coder");
  await startPod();
  await count(1);
  await stage.untilCondition("coder", "Ready", { status: "True" });
  const seen = new Set<string>();
  for (const pauseS of [0, 10, 20, 40]) {
    await pass(30);
    const { status } = await stage.get(Pod, POD);
    const end = { exitCode: 1, message: "error: database is locked" };
    const ended = endedStatus(status, end, stage.clock.now());
    await stage.person.patchStatus(Pod, stage.ref(POD), { status: ended });
    await count(0);
    await pass(pauseS + 2);
    seen.add((await condition("Ready"))?.reason ?? "");
    const [container] = ended.containerStatuses ?? [];
    const before = { lastState: container?.lastState, restartCount: (container?.restartCount ?? 0) + 1 };
    await stage.person.patchStatus(Pod, stage.ref(POD), { status: runningStatus(stage.clock.now(), before) });
    await count(1);
    await pass(15);
    seen.add((await condition("Ready"))?.reason ?? "");
  }
  expect([...seen]).toEqual(["Stalled"]);
  const { message } = (await condition("Ready")) ?? {};
  expect(message).toMatch(
    /exit code 1 \(4 restarts in \d minutes\): error: database is locked\. See: kubectl/,
  );
  expect(await condition("Stalled")).toMatchObject({ status: "True", reason: "PodsNotReady" });
  const events = (await stage.events("coder")).map(({ type, reason }) => `${type} ${reason}`);
  expect(events).toContain("Warning Stalled");
});

test("while coderd starts, Ready tells what is known of its database first", async () => {
  stage.tokens.isDown = true;
  await stage.create("coder", {
    extraEnv: [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" }],
  });
  await stage.untilCondition("coder", "OperatorAccessReady", { reason: "DatabaseUnreachable" });
  await stage.touch("coder", "a look");
  await stage.eventually(async () =>
    expect((await condition("Ready"))?.message).toMatch(/^The database host does not respond.* 0 of 1 pods/s),
  );
});

test.each([
  ["crashes", false],
  ["crashes again and again, and happens to be up,", true],
])("a pod that %s is replaced when a Secret that it reads is corrected, and not before", async (_, isUp) => {
  await stage.putSecret("oidc", { secret: "wrong-one" });
  const valueFrom = { secretKeyRef: { name: "oidc", key: "secret" } };
  await stage.serve("coder", { extraEnv: [{ name: "CODER_OIDC_CLIENT_SECRET", valueFrom }] });
  await startPod();
  const { status } = await stage.get(Pod, POD);
  const ended = endedStatus(status, { exitCode: 1 }, stage.clock.now());
  const lastState = ended.containerStatuses?.[0]?.lastState;
  const up = runningStatus(stage.clock.now(), { lastState, restartCount: 3 });
  await stage.person.patchStatus(Pod, stage.ref(POD), { status: isUp ? up : ended });
  await count(isUp ? 1 : 0);
  await stage.untilCondition("coder", "Ready", { reason: "Stalled" });
  await stage.touch("coder", "the kubelet starts it again");
  await pass(5);
  expect(await stage.exists(Pod, POD)).toBe(true);
  await stage.putSecret("oidc", { secret: "right-one" });
  await stage.eventually(async () => expect(await stage.exists(Pod, POD)).toBe(false));
  const events = (await stage.events("coder")).map(({ reason, message }) => `${reason} ${message}`);
  expect(events).toContainEqual(expect.stringMatching(/^PodReplaced Replaced failing pod ".*" because/));
});
