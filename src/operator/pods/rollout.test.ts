import type { Deployment, Pod, Stored } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { rolloutOf } from "./rollout.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");

interface Counts {
  readonly wanted?: number;
  readonly present?: number;
  readonly updated?: number;
  readonly available?: number;
  readonly observed?: number;
  readonly conditions?: NonNullable<Deployment["status"]>["conditions"];
}

function aDeployment({
  wanted = 2,
  present = 2,
  updated = 2,
  available = 2,
  observed = 3,
  conditions,
}: Counts) {
  return {
    metadata: { name: "coder", namespace: "team", generation: 3 },
    spec: { replicas: wanted },
    status: {
      observedGeneration: observed,
      replicas: present,
      updatedReplicas: updated,
      availableReplicas: available,
      ...(conditions ? { conditions } : {}),
    },
  } as Deployment;
}

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

function aPod(
  name: string,
  container: Partial<ContainerStatus>,
  status: Partial<Pod["status"]> = {},
): Stored<Pod> {
  const metadata = {
    name,
    namespace: "team",
    creationTimestamp: "2026-01-01T11:59:00Z",
    labels: { "pod-template-hash": "new" },
  };
  const containerStatus = {
    name: "coder",
    image: "coder:x",
    imageID: "",
    ready: false,
    restartCount: 7,
    ...container,
  };
  return stored<Pod>({
    metadata,
    status: { phase: "Pending", containerStatuses: [containerStatus], ...status },
  });
}

const stuck = aDeployment({ updated: 1, available: 2, present: 3 });
const causeWith = (...pods: Stored<Pod>[]) => rolloutOf(stuck, { pods, now: NOW });

describe("a rollout", () => {
  test("is complete when its controller saw the spec and all pods are updated, available and alone", () => {
    expect(rolloutOf(aDeployment({}), { pods: [], now: NOW })).toEqual({ state: "complete" });
  });

  test.each<[string, Counts]>([
    ["its controller has not seen the newest spec", { observed: 2 }],
    ["pods of an older spec are left", { present: 3 }],
    ["not all pods are updated", { updated: 1 }],
    ["not all pods are available", { available: 1 }],
  ])("moves while %s", (_, counts) => {
    expect(rolloutOf(aDeployment(counts), { pods: [], now: NOW })).toEqual({ state: "moving" });
  });

  test("that was complete before only scales while nothing but the number is missing", () => {
    const conditions = [{ type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" }];
    const growing = aDeployment({ wanted: 4, present: 4, updated: 4, conditions });
    expect(rolloutOf(growing, { pods: [], now: NOW })).toEqual({ state: "scaling" });
    const rolling = aDeployment({ wanted: 4, present: 4, updated: 3, conditions });
    expect(rolloutOf(rolling, { pods: [], now: NOW })).toEqual({ state: "moving" });
  });

  test("stalls when the API server refuses its pods, in words that do not name a pod that never was", () => {
    const message =
      'pods "coder-6f-x2k9z" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2';
    const conditions = [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message }];
    expect(rolloutOf(aDeployment({ updated: 0, conditions }), { pods: [], now: NOW })).toEqual({
      state: "stalled",
      cause:
        "No pod can be created: a pod is forbidden: exceeded quota: small, requested: pods=1, used: pods=2",
      mayPass: true,
    });
  });

  test("stalls when its deadline has passed and no pod says why", () => {
    const conditions = [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }];
    expect(rolloutOf(aDeployment({ updated: 1, conditions }), { pods: [], now: NOW })).toMatchObject({
      state: "stalled",
      cause: expect.stringContaining('Deployment "coder" has made no progress'),
    });
  });

  test("that its controller has not seen yet is not blamed on the pods of the spec before", () => {
    const pod = aPod("coder-1", { lastState: { terminated: { exitCode: 1 } } });
    expect(rolloutOf(aDeployment({ observed: 2 }), { pods: [pod], now: NOW })).toEqual({ state: "moving" });
  });
});

describe("the cause of a stalled rollout", () => {
  test.each([
    ["a registry that does not answer", "ErrImagePull", "dial tcp: i/o timeout", true],
    ["a registry that does not have the image", "ErrImagePull", "coder:x: not found", false],
    ["an image without a name", "InvalidImageName", "", false],
    ["a Secret that is missing", "CreateContainerConfigError", 'secret "db" not found', false],
  ])("may pass by itself or not: %s", (_, reason, message, mayPass) => {
    const { mayPass: found = false } = causeWith(
      aPod("coder-1", { state: { waiting: { reason, message } } }),
    ) as { readonly mayPass?: boolean };
    expect(found).toBe(mayPass);
  });

  test("is the same while a kubelet pulls and while it waits to pull again", () => {
    const failure = "rpc error: code = NotFound desc = coder:x: not found";
    const pulling = { waiting: { reason: "ErrImagePull", message: failure } };
    const message = `Back-off pulling image "coder:x": ErrImagePull: ${failure}`;
    const waiting = { waiting: { reason: "ImagePullBackOff", message } };
    const first = causeWith(aPod("coder-1", { state: pulling }));
    expect(first).toEqual({
      state: "stalled",
      cause: `Pod "coder-1": image "coder:x" can't be pulled: ${failure}. Correct the image, or give the pull secret that its registry asks for.`,
    });
    expect(causeWith(aPod("coder-1", { state: waiting }))).toEqual(first);
  });

  test("is the same while a container runs again, waits to run again, and has just crashed", () => {
    const terminated = { exitCode: 1, reason: "Error", message: "database is\n gone" };
    const crashed = causeWith(aPod("coder-1", { state: { terminated } }));
    const waiting = { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting" } };
    expect(causeWith(aPod("coder-1", { state: waiting, lastState: { terminated } }))).toEqual(crashed);
    expect(causeWith(aPod("coder-1", { state: { running: {} }, lastState: { terminated } }))).toEqual(
      crashed,
    );
    expect(crashed).toEqual({
      state: "stalled",
      cause:
        'Pod "coder-1": container "coder" crashes with exit code 1: database is gone. See: kubectl -n team logs coder-1 -c coder --previous',
    });
  });

  test("is no crash of a container that has become ready since", () => {
    const lastState = { terminated: { exitCode: 1 } };
    expect(causeWith(aPod("coder-1", { ready: true, lastState }))).toEqual({ state: "moving" });
  });

  test("names what a container lacks to be started", () => {
    const state = { waiting: { reason: "CreateContainerConfigError", message: 'secret "db" not found' } };
    expect(causeWith(aPod("coder-1", { state }))).toMatchObject({
      cause: expect.stringContaining('container "coder" can\'t be started: secret "db" not found. Create'),
    });
  });

  test("says when memory ran out", () => {
    const lastState = { terminated: { exitCode: 137, reason: "OOMKilled" } };
    expect(causeWith(aPod("coder-1", { lastState }))).toMatchObject({
      cause: expect.stringContaining("was killed because it used more memory than its limit"),
    });
  });

  test("is a lack of nodes only after a cluster that grows had time to", () => {
    const unscheduled = (since: string) =>
      aPod(
        "coder-1",
        {},
        {
          containerStatuses: [],
          conditions: [
            {
              type: "PodScheduled",
              status: "False",
              reason: "Unschedulable",
              lastTransitionTime: since,
              message: "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available.",
            },
          ],
        },
      );
    expect(causeWith(unscheduled("2026-01-01T11:59:30Z"))).toEqual({ state: "moving", lookAgainMs: 30_000 });
    expect(causeWith(unscheduled("2026-01-01T11:58:00Z"))).toMatchObject({
      cause: expect.stringContaining(
        "no node takes it: 0/3 nodes are available: 3 Insufficient cpu. Add nodes",
      ),
    });
  });

  test("is sought among the pods of the newest spec, not among those that it replaces", () => {
    const crash = { lastState: { terminated: { exitCode: 1 } } };
    const old = aPod("coder-0", crash);
    old.metadata.labels = { "pod-template-hash": "old" };
    old.metadata.creationTimestamp = "2026-01-01T11:00:00Z";
    expect(causeWith(old, aPod("coder-1", { ready: true }))).toEqual({ state: "moving" });
  });

  test("is found whichever of two templates a pod of the youngest second belongs to", () => {
    const old = aPod("coder-0", { ready: true });
    old.metadata.labels = { "pod-template-hash": "old" };
    const crashing = aPod("coder-1", { lastState: { terminated: { exitCode: 1 } } });
    expect(causeWith(old, crashing)).toMatchObject({ state: "stalled" });
    expect(causeWith(crashing, old)).toMatchObject({ state: "stalled" });
  });

  test("has neither a secret nor more than a few lines of what a program wrote", () => {
    const message = `dial postgres://coder:hunter2@db/coder ${"x".repeat(100_000)}`;
    const rollout = causeWith(aPod("coder-1", { lastState: { terminated: { exitCode: 1, message } } }));
    expect(rollout.state).toBe("stalled");
    expect(JSON.stringify(rollout)).not.toContain("hunter2");
    expect(JSON.stringify(rollout).length).toBeLessThan(600);
  });
});
