import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import type { Snapshot } from "../observe.ts";
import { withDefaults } from "../spec.ts";
import { gatherFacts } from "./gather.ts";
import { planUpgrade } from "./plan.ts";

const OLD = "ghcr.io/coder/coder:latest";

/** A control plane whose Deployment has an image that somebody else has written there. */
function snapshot(observedGeneration: number): Snapshot {
  const object = stored<CoderControlPlane>({ spec: { image: OLD }, status: { observedGeneration } });
  object.metadata.generation = 2;
  const containers = [{ name: "coder", image: "mirror.example.com/coder:latest" }];
  return {
    now: 0,
    object,
    controlPlane: withDefaults(object),
    deployment: { spec: { template: { spec: { containers } } } },
    pods: [],
    upgrade: { podNames: undefined, followers: [], revisions: [] },
  } as unknown as Snapshot;
}

test("a spec that an earlier operator has reported on is no upgrade, whatever its Deployment shows", () => {
  expect(planUpgrade(gatherFacts(snapshot(2)))).toMatchObject({ do: "rest", shape: { image: OLD } });
});

test("a spec that changed while the operator was replaced is an upgrade", () => {
  expect(planUpgrade(gatherFacts(snapshot(1)))).toMatchObject({
    do: "record",
    record: { stage: "Preflight" },
  });
});
