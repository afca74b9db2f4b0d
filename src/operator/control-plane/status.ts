import type { ConditionState } from "../../runtime/conditions.ts";
import { summary } from "../shared/summary.ts";

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

/** Reasons that belong to a normal start, or that the user chose: no news for anybody. */
export const quietReasons: ReadonlySet<string> = new Set([
  "Disabled",
  "NoReplicaReady",
  "ScaledToZero",
  "DeploymentReady",
  "Pending",
]);

export function readiness(conditions: ReadonlyMap<string, ConditionState>): ConditionState {
  return summary(conditions, servingConditions, "coderd serves and its objects are as the spec says");
}
