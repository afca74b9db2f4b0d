import type { RunContext } from "kube-controller-runtime";
import { stored, stubClient } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { accept, isNew } from "./accept.ts";

test.each<[string, ControlPlaneStatus | undefined, boolean]>([
  ["no status", undefined, true],
  ["an empty status", {}, true],
  ["a status of an earlier operator", { phase: "Ready" }, false],
])("whether an object with %s is new", (_, status, expected) => {
  const object = stored<CoderControlPlane>(status ? { status } : {});
  expect(isNew(object)).toBe(expected);
  expect(isNew(stored(object, { deletionTimestamp: "2026-01-01T00:00:00Z" }))).toBe(false);
});

test("a new object is told that it was seen, in one write that observes no generation", async () => {
  const written: { status?: ControlPlaneStatus }[] = [];
  const client = stubClient({
    patchStatus: async (_kind: unknown, _ref: unknown, patch: object) => {
      written.push(patch);
      return stored<CoderControlPlane>(patch);
    },
  });
  const clock = { now: () => Date.UTC(2026, 0, 1) };
  const object = stored<CoderControlPlane>({}, { generation: 3 });
  await accept<CoderControlPlane, ControlPlaneStatus>(CoderControlPlane)(object, {
    client,
    clock,
  } as unknown as RunContext);
  expect(written).toMatchObject([
    { status: { phase: "Pending", conditions: [{ type: "Ready", status: "False", reason: "Pending" }] } },
  ]);
  expect(written[0]?.status?.observedGeneration).toBeUndefined();
});
