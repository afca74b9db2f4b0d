import { beforeEach, describe, expect, test } from "vitest";
import { stored } from "../../../test/support/stored.ts";
import { apiError, stubClient } from "../../../test/support/stub-client.ts";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { RunContext } from "../../runtime/controller/controller.ts";
import { Steps } from "../../runtime/controller/steps.ts";
import type { Stored } from "../../runtime/object.ts";
import { explain } from "./explain.ts";
import { finish } from "./finish.ts";

const now = Date.UTC(2026, 0, 1);
const broken = { status: "False", reason: "Broken", message: "it broke" } as const;

let steps: Steps<ControlPlaneStatus>;
let told: string[];
let written: { metadata?: object; status: ControlPlaneStatus }[];
beforeEach(() => {
  steps = new Steps<ControlPlaneStatus>(explain);
  [told, written] = [[], []];
});

function controlPlane(status: ControlPlaneStatus = {}): Stored<CoderControlPlane> {
  const { apiVersion, kind } = CoderControlPlane;
  return stored<CoderControlPlane>({ apiVersion, kind, status }, { generation: 7 });
}

/** Ends a run against an API server that takes a status as it is told to. */
function end(object = controlPlane(), patchStatus = takeStatus) {
  const client = stubClient({ patchStatus });
  const events = { event: (_: unknown, { reason }: { reason: string }) => void told.push(reason) };
  const context = { client, events } as unknown as RunContext;
  return finish(steps, { kind: CoderControlPlane, object, now, quiet: new Set(["Pending"]) }, context);
}

async function takeStatus(...[, , patch]: [unknown, unknown, { status: ControlPlaneStatus }]) {
  written.push(patch);
  return { ...controlPlane(), status: patch.status };
}

describe("the end of a run", () => {
  test("writes what the steps found, with the generation that they looked at, and tells what broke", async () => {
    await steps.run("A", async () => ({ condition: broken, status: { url: "http://a" }, requeueAfterMs: 5 }));
    expect(await end()).toEqual({ kind: "requeue", afterMs: 5 });
    expect(written).toMatchObject([
      {
        metadata: { resourceVersion: "1" },
        status: {
          url: "http://a",
          observedGeneration: 7,
          conditions: [{ type: "A", observedGeneration: 7 }],
        },
      },
    ]);
    expect(told).toEqual(["Broken"]);
  });

  test("writes nothing and tells nothing when nothing changed", async () => {
    const conditions = [
      { type: "A", ...broken, observedGeneration: 7, lastTransitionTime: "2025-01-01T00:00:00Z" },
    ];
    await steps.run("A", async () => ({ condition: broken }));
    expect(await end(controlPlane({ conditions, observedGeneration: 7 }))).toEqual({ kind: "awaitChange" });
    expect([written, told]).toEqual([[], []]);
  });

  test("writes the status of a run that failed, and then throws what it failed with", async () => {
    const failure = new Error("the step failed");
    await steps.run("A", () => Promise.reject(failure));
    await expect(end()).rejects.toBe(failure);
    expect(written).toMatchObject([{ status: { conditions: [{ type: "A", reason: "InternalError" }] } }]);
  });

  test("keeps both errors when the status can't be written either, and tells nothing", async () => {
    const [failure, refusal] = [new Error("the step failed"), apiError("InternalError")];
    await steps.run("A", () => Promise.reject(failure));
    const ended = end(controlPlane(), () => Promise.reject(refusal));
    await expect(ended).rejects.toMatchObject({ errors: [failure, refusal] });
    expect(told).toEqual([]);
  });

  test("throws the error of the status when the steps had none", async () => {
    const refusal = apiError("InternalError");
    await steps.run("A", async () => ({ condition: broken }));
    await expect(end(controlPlane(), () => Promise.reject(refusal))).rejects.toBe(refusal);
  });
});
