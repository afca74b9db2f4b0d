import { AVAILABLE, CONFLICT, type ConditionState, type StepResult, summary } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { DISRUPTION_BUDGET } from "../pods/disruption-budget.ts";
import { IMAGE_PINNED, UNPINNED } from "../pods/image.ts";
import { STALLED } from "../pods/report.ts";

/** The conditions of a control plane, in the order in which its steps run. Each belongs to one step. */
export const conditionTypes = {
  serviceAccount: "ServiceAccountReady",
  workspaceRbac: "WorkspaceRBACReady",
  service: "ServiceReady",
  exposure: "ExposureReady",
  accessURL: "AccessURLExposed",
  disruption: DISRUPTION_BUDGET,
  deployment: "DeploymentReady",
  available: AVAILABLE,
  stalled: STALLED,
  image: IMAGE_PINNED,
  conflict: CONFLICT,
  ready: "Ready",
  database: "DatabaseDurable",
  access: "OperatorAccessReady",
  license: "LicenseApplied",
  entitlements: "EntitlementsKnown",
  licenseTerm: "LicenseValid",
  health: "Healthy",
  builds: "BuildsServed",
  upgrading: "Upgrading",
  upgradePossible: "UpgradePossible",
} as const;

/** What the summary depends on: whether coderd serves, and is reachable as the spec says. */
const servingConditions: readonly string[] = [
  conditionTypes.serviceAccount,
  conditionTypes.workspaceRbac,
  conditionTypes.service,
  conditionTypes.exposure,
  conditionTypes.disruption,
  conditionTypes.deployment,
];

/** Reasons that belong to a normal start, or that the user chose: no news for anybody. */
export const quietReasons: ReadonlySet<string> = new Set([
  UNPINNED,
  "Disabled",
  "NamesTaken",
  "RollingOut",
  "Starting",
  "ScaledToZero",
  "Pending",
  "Completed",
]);

export function readiness(conditions: ReadonlyMap<string, ConditionState>): ConditionState {
  return summary(conditions, servingConditions, "coderd serves and its objects are as the spec says.");
}

export type ControlPlaneResult<V = undefined> = StepResult<ControlPlaneStatus, V>;

/** Nobody can say whether it is so. */
export function unknown(reason: string, message: string): ControlPlaneResult<never> {
  return { condition: { status: "Unknown", reason, message } };
}
