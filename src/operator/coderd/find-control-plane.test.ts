import { controllerReference, type RunContext, type Service, type Stored } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane, CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { controlPlaneReported, objectsBehindService } from "./find-control-plane.ts";

function withStatus(status: ControlPlaneStatus, annotations = {}): Stored<CoderControlPlane> {
  return stored<CoderControlPlane>({ status }, { generation: 1, annotations });
}

function causesRun(previous: Stored<CoderControlPlane>, object: Stored<CoderControlPlane>): boolean {
  return controlPlaneReported({ type: "updated", previous, object, ownWrite: true, fromList: false });
}

const reported: ControlPlaneStatus = { observedGeneration: 1, url: "http://coder" };
const condition = {
  ...{ type: "Healthy", status: "True", reason: "ChecksPass", message: "" },
  lastTransitionTime: "2026-01-01T00:00:00Z",
} as const;

test("what a control plane reports runs those that name it", () => {
  const first = withStatus({ phase: "Pending" });
  expect(causesRun(first, withStatus(reported))).toBe(true);
  expect(causesRun(withStatus(reported), withStatus({ ...reported, licenseTier: "premium" }))).toBe(true);
  expect(causesRun(withStatus(reported), withStatus(reported, { note: "changed" }))).toBe(true);
});

test("a control plane without a report, or with a change of only its conditions, triggers no reconcile", () => {
  expect(causesRun(withStatus({}), withStatus({ phase: "Pending" }))).toBe(false);
  expect(causesRun(withStatus(reported), withStatus({ ...reported, conditions: [condition] }))).toBe(false);
});

test.each<ControlPlaneStatus>([
  { healthFindings: [{ section: "database", code: "EDB02", error: false }] },
  { images: ["coder@sha256:1"], pods: "1/2", replicas: 2, selector: "a=b" },
  { accessURL: "https://coder.example.com", workspaceNamespaces: ["elsewhere"] },
  { license: { tier: "premium", trial: false, seatsUsed: 3, warnings: [] } },
])("a change that dependents do not read triggers no reconcile: %j", (unread) => {
  expect(causesRun(withStatus(reported), withStatus({ ...reported, ...unread }))).toBe(false);
});

test("a new cause why the operator has no access runs those that repeat it", () => {
  const without = (message: string) => {
    const access = { ...condition, type: "OperatorAccessReady", status: "False", message } as const;
    return withStatus({ ...reported, operatorAccessReady: false, conditions: [access] });
  };
  expect(causesRun(without("Waiting for a ready pod."), without("The password is wrong."))).toBe(true);
  expect(causesRun(without("The password is wrong."), without("The password is wrong."))).toBe(false);
});

test("the Service of a control plane runs those that name it, unless they wait for its report anyway", () => {
  const run = (controlPlane: Stored<CoderControlPlane>) => {
    const ownerReferences = [controllerReference(controlPlane, CoderControlPlane)];
    const objects = new Map<unknown, object>([
      [CoderControlPlane, { get: () => controlPlane }],
      [CoderProvisioner, { byIndex: () => [stored<CoderProvisioner>({}, { name: "pool" })] }],
    ]);
    const caches = { of: (kind: unknown) => objects.get(kind) } as unknown as RunContext["caches"];
    return objectsBehindService(CoderProvisioner)(stored<Service>({}, { ownerReferences }), caches);
  };
  expect(run(withStatus({ phase: "Pending" }))).toEqual([]);
  expect(run(withStatus(reported))).toHaveLength(1);
});
