import type { ConditionState } from "../../runtime/conditions.ts";

/** The conditions of a control plane, in the order in which its steps run. Each belongs to one step. */
export const conditionTypes = {
  serviceAccount: "ServiceAccountReady",
  workspaceRbac: "WorkspaceRBACReady",
  deployment: "DeploymentReady",
  service: "ServiceReady",
  exposure: "ExposureReady",
  ready: "Ready",
  access: "OperatorAccessReady",
  license: "LicenseApplied",
  entitlements: "EntitlementsKnown",
} as const;

/** What the summary depends on: whether coderd serves, and is reachable as the spec says. */
const servingConditions: readonly string[] = [
  conditionTypes.serviceAccount,
  conditionTypes.workspaceRbac,
  conditionTypes.deployment,
  conditionTypes.service,
  conditionTypes.exposure,
];

/** Reasons that belong to a normal start: no news for anybody. */
export const quietReasons: ReadonlySet<string> = new Set([
  "NoReplicaReady",
  "ScaledToZero",
  "DeploymentReady",
  "Pending",
]);

/** The one condition to wait for: True when every part serves, else it names the first that does not. */
export function readiness(conditions: ReadonlyMap<string, ConditionState>): ConditionState {
  const blocking = servingConditions.find((type) => conditions.get(type)?.status === "False");
  const message = blocking && conditions.get(blocking)?.message;
  if (blocking && message) return { status: "False", reason: blocking, message };
  return { status: "True", reason: "Serving", message: "coderd serves and its objects are as the spec says" };
}
