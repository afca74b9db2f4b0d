import {
  AVAILABLE,
  CONFLICT,
  type Condition,
  type ConditionState,
  findCondition,
  type StepResult,
  summary,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { DISRUPTION_BUDGET } from "../workload/disruption-budget.ts";
import { IMAGE_PINNED, UNPINNED } from "../workload/pods/image.ts";
import { STALLED } from "../workload/pods/report.ts";
import { DEPLOYMENT_READY } from "../workload/pods/rollout.ts";

/** The conditions of a control plane, in the order in which its steps run. Each belongs to one step. */
export const conditionTypes = {
  serviceAccount: "ServiceAccountReady",
  workspaceRbac: "WorkspaceRBACReady",
  service: "ServiceReady",
  exposure: "ExposureReady",
  accessURL: "AccessURLExposed",
  disruption: DISRUPTION_BUDGET,
  deployment: DEPLOYMENT_READY,
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

/** coderd has not made its tables yet. While no pod is ready that is a normal start, later a step emits the event. */
export const NOT_MIGRATED = "NotMigrated";

/** Reasons that belong to a normal start, or that the user chose: no news for anybody. */
export const quietReasons: ReadonlySet<string> = new Set([
  UNPINNED,
  "Disabled",
  "NamesTaken",
  NOT_MIGRATED,
  "RollingOut",
  "Starting",
  "ScaledToZero",
  "Pending",
  "Completed",
]);

/**
 * The one condition to wait for. While pods start or crash, what was found out about the database is told with it: without
 * one that works, coderd does not serve.
 */
export function readiness(
  conditions: ReadonlyMap<string, ConditionState>,
  before: readonly Condition[] = [],
): ConditionState {
  const state = summary(conditions, servingConditions, "coderd serves and its objects are as the spec says.");
  const access = findCondition(before, conditionTypes.access);
  const isOfPods = state.status === "False" && state === conditions.get(conditionTypes.deployment);
  const isKnown = access?.status === "False" && DATABASE_FAULTS.has(access.reason);
  return isOfPods && isKnown ? { ...state, message: `${access.message} ${state.message}` } : state;
}

/** Reasons of the access condition for which coderd's own pods fail too. */
const DATABASE_FAULTS: ReadonlySet<string> = new Set([
  ...["InvalidConnectionURL", "DatabaseUnreachable", "DatabaseAuthenticationFailed", "DatabaseMissing"],
  ...["DatabaseTLSFailed", "DatabasePermissionDenied", "SecretMissing", "ConfigMapMissing"],
]);

export type ControlPlaneResult<V = undefined> = StepResult<ControlPlaneStatus, V>;

/** Nobody can say whether it is so. */
export function unknown(reason: string, message: string): ControlPlaneResult<never> {
  return { condition: { status: "Unknown", reason, message } };
}
