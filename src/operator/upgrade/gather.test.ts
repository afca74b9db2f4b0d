import type { Pod } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { withDefaults } from "../coderd/settings.ts";
import { gatherFacts } from "./gather.ts";
import type { UpgradeSnapshot } from "./observe.ts";
import { planUpgrade } from "./plan.ts";

const OLD = "ghcr.io/coder/coder:latest";

/** A control plane whose Deployment has an image that the operator did not set. */
function snapshot(observedGeneration: number): UpgradeSnapshot {
  const object = stored<CoderControlPlane>({ spec: { image: OLD }, status: { observedGeneration } });
  object.metadata.generation = 2;
  const containers = [{ name: "coder", image: "mirror.example.com/coder:latest" }];
  return {
    now: 0,
    object,
    controlPlane: withDefaults(object),
    deployment: { spec: { template: { spec: { containers } } } },
    pods: [],
    warnings: new Map(),
    upgrade: { podNames: undefined, imageChecks: [], followers: [], revisions: [] },
  } as unknown as UpgradeSnapshot;
}

test("a spec that an earlier operator reported is not an upgrade, regardless of its Deployment", () => {
  expect(planUpgrade(gatherFacts(snapshot(2)))).toMatchObject({ do: "rest", shape: { image: OLD } });
});

test("a spec that changed while the operator was replaced is an upgrade", () => {
  expect(planUpgrade(gatherFacts(snapshot(1)))).toMatchObject({
    do: "record",
    record: { stage: "Preflight" },
  });
});

describe("a warning event of the new pod", () => {
  const now = Date.parse("2026-01-01T01:00:00Z");
  const since = "2026-01-01T00:00:00Z";
  const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: since };

  function troubleOf(reason: string, containerStatuses: readonly object[]): unknown {
    const before = snapshot(1);
    const pod = stored<Pod>({
      status: { phase: "Pending", conditions: [scheduled], containerStatuses },
    } as Pod);
    const warnings = new Map([[pod.metadata.uid, [{ reason, message: "it says why", at: now }]]]);
    return gatherFacts({ ...before, now, pods: [pod], warnings } as unknown as UpgradeSnapshot).pods.problem;
  }

  test("says why it does not start", () => {
    expect(troubleOf("FailedMount", [])).toMatchObject({ message: expect.stringContaining("it says why") });
  });

  test("about a probe is ignored while coderd runs: a migrating coderd passes none", () => {
    const running = { name: "coder", ready: false, state: { running: { startedAt: since } } };
    expect(troubleOf("Unhealthy", [running])).toBeUndefined();
  });
});

describe("a Deployment whose deadline has passed", () => {
  /** Its only pod, with this state of the coderd container. */
  function troubleWith(container: object): unknown {
    const before = snapshot(1);
    const conditions = [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }];
    const status = { replicas: 1, updatedReplicas: 1, readyReplicas: 0, conditions };
    const pod = stored<Pod>({
      status: { phase: "Running", containerStatuses: [{ name: "coder", ready: false, ...container }] },
    } as Pod);
    const seen = { ...before, deployment: { ...before.deployment, status }, pods: [pod] };
    return gatherFacts(seen as unknown as UpgradeSnapshot).pods.problem;
  }

  test("is ignored while coderd runs: a migration may take any time", () => {
    expect(troubleWith({ state: { running: {} } })).toBeUndefined();
  });

  test("is a problem while coderd's container is not even started", () => {
    expect(troubleWith({ state: { waiting: { reason: "ContainerCreating" } } })).toMatchObject({
      message: expect.stringContaining("deadline"),
    });
  });

  test("does not hide that coderd crashes, also between two attempts", () => {
    const crash = { terminated: { exitCode: 1 } };
    expect(troubleWith({ state: { running: {} }, lastState: crash })).toMatchObject({
      message: expect.stringContaining("crashes"),
    });
  });
});
