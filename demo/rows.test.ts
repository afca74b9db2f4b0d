import type { Condition, Stored } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner } from "../src/api/v1alpha1/kinds.ts";
import { type CoderObject, changeBetween, rowOf } from "./rows.ts";

function condition(type: string, status: string, reason = "Because"): Condition {
  return {
    type,
    status,
    reason,
    message: `${type} says so`,
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: 2,
  };
}

function anObject(status: NonNullable<CoderObject["status"]>): Stored<CoderObject> {
  return { metadata: { name: "coder", uid: "1", resourceVersion: "1", generation: 2 }, status };
}

const rowWith = (...conditions: Condition[]) =>
  rowOf(CoderControlPlane, "coder", anObject({ conditions, phase: "Ready" }));

describe("an object", () => {
  test("is ready when its summary says so about its present spec and no part says otherwise", () => {
    expect(rowWith(condition("LicenseApplied", "Unknown"), condition("Ready", "True"))).not.toHaveProperty(
      "blocked",
    );
  });

  test.each([
    [
      "a part is false, even beside a summary that is true",
      rowWith(condition("Ready", "True"), condition("LicenseApplied", "False", "Forbidden")),
      "LicenseApplied is False (Forbidden): LicenseApplied says so",
    ],
    ["the summary is unknown", rowWith(condition("Ready", "Unknown")), "Ready is Unknown (Because)"],
    ["there is no summary", rowWith(), "Ready is not reported"],
    [
      "the summary is about an older spec",
      rowWith({ ...condition("Ready", "True"), observedGeneration: 1 }),
      "older spec",
    ],
    ["it does not exist", rowOf(CoderProvisioner, "linux", undefined), "does not exist"],
  ])("is not ready when %s", (_case, row, because) => {
    expect(row.blocked).toContain(because);
  });

  test("shows in a few words what its status says", () => {
    const status = { phase: "Ready" as const, readyReplicas: 2, licenseTier: "premium" };
    expect(rowOf(CoderControlPlane, "coder", anObject(status)).facts).toEqual([
      "Ready",
      "2 ready",
      "license premium",
    ]);
  });
});

describe("a change", () => {
  test("names the conditions that changed, and why those that are false are", () => {
    const before = rowWith(condition("ServiceReady", "True"), condition("Ready", "False", "Pending"));
    const after = rowWith(
      condition("ServiceReady", "True"),
      condition("Ready", "True"),
      condition("LicenseApplied", "False", "SecretMissing"),
      condition("Healthy", "Unknown"),
    );
    expect(changeBetween(before, after)?.replace(/ +/g, " ")).toBe(
      "CoderControlPlane/coder ✓ Ready ✗ LicenseApplied (SecretMissing)",
    );
  });

  test("is nothing when nothing changed", () => {
    const row = rowWith(condition("Ready", "True"));
    expect(changeBetween(row, row)).toBeUndefined();
  });
});
