import type { Deployment } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { availability, type PodRunner, reportPods } from "./report.ts";
import type { PodsSeen } from "./rollout.ts";

const runner: PodRunner = {
  app: "coder-provisioner",
  identity: { name: "pool", namespace: "coder", uid: "1" },
  childName: "provisioner-pool",
  replicas: 0,
};
const empty: Deployment = {
  metadata: { generation: 1 },
  spec: { replicas: 0, selector: {}, template: {} },
  status: { observedGeneration: 1 },
};
const seen: PodsSeen = { pods: [], now: 0 };

describe("a runner without pods", () => {
  test("that wants none has lost none", () => {
    const earlier = { type: "Available", status: "True", reason: "PodsReady", message: "" } as const;
    const status = { conditions: [{ ...earlier, lastTransitionTime: "2026-01-01T00:00:00Z" }] };
    const wanting = (replicas: number) =>
      availability(undefined, { ...runner, replicas }, { object: { status }, deployment: undefined })
        .condition?.reason;
    expect(wanting(0)).toBe("ScaledToZero");
    expect(wanting(1)).toBe("NoPodReady");
  });

  test("serves by those of a Deployment that could not be changed", () => {
    const deployment = { status: { readyReplicas: 2 } };
    const { condition } = availability(undefined, runner, { object: {}, deployment });
    expect(condition).toMatchObject({ status: "True", reason: "PodsReady" });
  });

  test("says whether the spec or the queue wants none", () => {
    const message = (autoscaling?: object) =>
      reportPods(empty, { ...runner, autoscaling }, seen).condition?.message;
    expect(message()).toBe('Deployment "provisioner-pool" has no pods because spec.replicas is 0.');
    expect(message({})).toBe('Deployment "provisioner-pool" has no pods because no daemons are needed.');
  });
});
