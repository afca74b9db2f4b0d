import type { Deployment } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { rolloutChanged } from "./rollout.ts";

const condition = {
  type: "Progressing",
  status: "True",
  reason: "ReplicaSetUpdated",
  message: 'ReplicaSet "a" is progressing.',
  lastUpdateTime: "2026-01-01T00:00:00Z",
};
const status: NonNullable<Deployment["status"]> = {
  observedGeneration: 1,
  replicas: 2,
  conditions: [condition],
};

test.each<[string, NonNullable<Deployment["status"]>, boolean]>([
  ["a pod is ready", { ...status, readyReplicas: 1 }, true],
  ["a pod is of the newest template", { ...status, updatedReplicas: 1 }, true],
  ["the controller has seen the newest spec", { ...status, observedGeneration: 2 }, true],
  [
    "the rollout has stopped",
    { ...status, conditions: [{ ...condition, status: "False", reason: "ProgressDeadlineExceeded" }] },
    true,
  ],
  [
    "a condition has another time",
    { ...status, conditions: [{ ...condition, lastUpdateTime: "2026-01-01T00:00:01Z", message: "." }] },
    false,
  ],
  ["an unused number has changed", { ...status, unavailableReplicas: 2 }, false],
])("whether a Deployment's rollout has moved: %s", (_, after, moved) => {
  const previous = stored<Deployment>({ status });
  const object = stored<Deployment>({ status: after }, { resourceVersion: "2" });
  expect(rolloutChanged({ type: "updated", object, previous, ownWrite: false, fromList: false })).toBe(moved);
});
