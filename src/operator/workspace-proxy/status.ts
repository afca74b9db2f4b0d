import {
  AVAILABLE,
  CONFLICT,
  type ConditionState,
  type StepResult,
  summary,
  UNREPORTED,
} from "kube-controller-runtime";
import type { WorkspaceProxyStatus } from "../../api/v1alpha1/workspace-proxy.ts";
import { DISRUPTION_BUDGET } from "../workload/disruption-budget.ts";
import { IMAGE_PINNED, UNPINNED } from "../workload/pods/image.ts";
import { STALLED } from "../workload/pods/report.ts";
import { DEPLOYMENT_READY } from "../workload/pods/rollout.ts";

/** The conditions of a workspace proxy, in the order in which its steps run. Each belongs to one step. */
export const conditionTypes = {
  coderd: "CoderdFound",
  credentials: "CredentialsReady",
  registration: "Registered",
  service: "ServiceReady",
  exposure: "ExposureReady",
  disruption: DISRUPTION_BUDGET,
  deployment: DEPLOYMENT_READY,
  available: AVAILABLE,
  stalled: STALLED,
  image: IMAGE_PINNED,
  conflict: CONFLICT,
  health: "Healthy",
  ready: "Ready",
} as const;

/** What the summary depends on; a cause comes before what follows from it. */
const servingConditions: readonly string[] = [
  conditionTypes.coderd,
  conditionTypes.credentials,
  conditionTypes.registration,
  conditionTypes.service,
  conditionTypes.exposure,
  conditionTypes.disruption,
  conditionTypes.deployment,
  conditionTypes.health,
];

/** Reasons that belong to a normal start: no news for anybody. */
export const quietReasons: ReadonlySet<string> = new Set([
  UNPINNED,
  "NamesTaken",
  "RollingOut",
  "Starting",
  "NotReported",
  "Pending",
  "ScaledToZero",
  UNREPORTED,
]);

export function readiness(conditions: ReadonlyMap<string, ConditionState>): ConditionState {
  return summary(conditions, servingConditions, "The proxy serves and its objects are as the spec says.");
}

export type WorkspaceProxyResult<V = undefined> = StepResult<WorkspaceProxyStatus, V>;
