import {
  AVAILABLE,
  CONFLICT,
  type Condition,
  type ConditionState,
  findCondition,
  summary,
  UNREPORTED,
} from "kube-controller-runtime";
import { DISRUPTION_BUDGET } from "../pods/ensure-disruption-budget.ts";
import { IMAGE_PINNED, UNPINNED } from "../pods/image.ts";
import { STALLED } from "../pods/report.ts";
import { CONNECTING, NOT_PERMITTED } from "./daemons/judge.ts";

/** Whether enough daemons are connected is not known. */
const DAEMONS_UNKNOWN = "DaemonsUnknown";

/** The conditions of a provisioner, in the order in which its steps run. Each belongs to one step. */
export const conditionTypes = {
  controlPlane: "ControlPlaneReady",
  operatorAccess: "OperatorAccessReady",
  bootstrapSecret: "BootstrapSecretReady",
  entitled: "ExternalProvisionersEntitled",
  key: "ProvisionerKeyReady",
  keySecret: "ProvisionerKeySecretReady",
  rbac: "WorkspaceRBACReady",
  disruption: DISRUPTION_BUDGET,
  deployment: "DeploymentReady",
  daemons: "DaemonsConnected",
  available: AVAILABLE,
  stalled: STALLED,
  image: IMAGE_PINNED,
  conflict: CONFLICT,
  ready: "Ready",
  scalingActive: "ScalingActive",
  scalingLimited: "ScalingLimited",
} as const;

/** How many daemons there are says nothing about whether they serve. */
const others: readonly string[] = [
  conditionTypes.ready,
  conditionTypes.available,
  conditionTypes.image,
  conditionTypes.scalingActive,
  conditionTypes.scalingLimited,
];
const parts: readonly string[] = Object.values(conditionTypes).filter((type) => !others.includes(type));

/** Reasons that belong to a normal start and emit no event; the creation of the key emits one. */
export const quietReasons: ReadonlySet<string> = new Set([
  UNPINNED,
  "Applied",
  "NamesTaken",
  "RollingOut",
  "Starting",
  CONNECTING,
  DAEMONS_UNKNOWN,
  "ScaledToZero",
  "Pending",
  "OperatorAccessNotReady",
  UNREPORTED,
]);

/**
 * The one condition to wait for: True when the daemons serve and every stage is as the spec says. A coderd that can't be
 * asked changes nothing for daemons that were connected; others are not taken to be.
 */
export function readiness(
  conditions: ReadonlyMap<string, ConditionState>,
  before?: readonly Condition[],
): ConditionState {
  const state = summary(conditions, parts, "The daemons serve and their objects are as the spec says.");
  const daemons = conditions.get(conditionTypes.daemons);
  const isUnknown = daemons?.status === "Unknown" && daemons.reason !== NOT_PERMITTED;
  const wasReady = findCondition(before, conditionTypes.ready)?.status === "True";
  if (state.status === "False" || !isUnknown || wasReady) return state;
  return { status: "False", reason: DAEMONS_UNKNOWN, message: daemons.message };
}
