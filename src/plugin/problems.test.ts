import { expect, test } from "vitest";
import { CoderControlPlane } from "../api/v1alpha1/kinds.ts";
import { readiness } from "../operator/control-plane/status.ts";
import { problemsOf } from "./problems.ts";

const rollingOut = { type: "DeploymentReady", reason: "RollingOut", message: "0 of 1 pods run the spec." };
const missingImage = { type: "DeploymentReady", reason: "Stalled", message: "The image can't be pulled." };
const taken = { type: "Conflict", status: "True", reason: "ServiceNotOurs", message: "A name is taken." };
const access = (reason: string) => ({ type: "OperatorAccessReady", reason, message: `${reason}.` });

const conditionsOf = (given: readonly { readonly type: string; readonly status?: string }[]) =>
  given.map((condition) => ({
    ...{ status: "False", reason: "", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ...condition,
  }));

const objectWith = (conditions: ReturnType<typeof conditionsOf>) => ({
  ...{ apiVersion: CoderControlPlane.apiVersion, kind: CoderControlPlane.kind },
  metadata: { name: "coder", namespace: "coder", uid: "1", resourceVersion: "1", creationTimestamp: "" },
  spec: {},
  status: { conditions },
});

test.each([
  ["a missing image", "DatabaseUnreachable", [access("DatabaseUnreachable"), missingImage]],
  ["a missing image", "Stalled", [access("NotMigrated"), missingImage]],
  ["pods that start", "DatabaseMissing", [rollingOut, access("DatabaseMissing")]],
  ["pods that fail", "DatabaseAuthenticationFailed", [missingImage, access("DatabaseAuthenticationFailed")]],
  ["a name that is taken", "ServiceNotOurs", [access("SecretMissing"), missingImage, taken]],
])("beside %s, %s is named first", (_, first, conditions) => {
  const reasons = problemsOf("controlplane/coder", objectWith(conditionsOf(conditions))).map(
    ({ reason }) => reason,
  );
  expect(reasons).toHaveLength(conditions.length);
  expect(reasons[0]).toBe(first);
});

test.each([
  "DatabaseMissing",
  "DatabaseAuthenticationFailed",
  "DatabaseUnreachable",
  "InvalidConnectionURL",
  "SecretMissing",
])("Ready of a control plane whose pods start begins with %s, which keeps them from it", (reason) => {
  const state = { ...rollingOut, status: "False" } as const;
  const before = conditionsOf([access(reason)]) as Parameters<typeof readiness>[1];
  expect(readiness(new Map([["DeploymentReady", state]]), before)).toMatchObject({
    reason: "RollingOut",
    message: `${reason}. ${rollingOut.message}`,
  });
});

test("Ready does not report a database that coderd has not migrated yet", () => {
  const state = { ...rollingOut, status: "False" } as const;
  const before = conditionsOf([access("NotMigrated")]) as Parameters<typeof readiness>[1];
  expect(readiness(new Map([["DeploymentReady", state]]), before).message).toBe(rollingOut.message);
});
