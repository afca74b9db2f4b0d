import {
  AVAILABLE,
  CONFLICT,
  type Condition,
  type ConditionState,
  findCondition,
  type StepResult,
  summary,
  UNREPORTED,
} from "kube-controller-runtime";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import { DISRUPTION_BUDGET } from "../workload/disruption-budget.ts";
import { IMAGE_PINNED, UNPINNED } from "../workload/pods/image.ts";
import { STALLED } from "../workload/pods/report.ts";
import { DEPLOYMENT_READY } from "../workload/pods/rollout.ts";
import type { Snapshot } from "./observe.ts";
import { SCALING_ACTIVE } from "./spec.ts";

export const CONNECTING = "Connecting";

/** The pods alone count. */
export const NOT_PERMITTED = "NotPermitted";

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
  deployment: DEPLOYMENT_READY,
  daemons: "DaemonsConnected",
  available: AVAILABLE,
  stalled: STALLED,
  image: IMAGE_PINNED,
  conflict: CONFLICT,
  ready: "Ready",
  scalingActive: SCALING_ACTIVE,
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
  // A rollout that waits for daemons which do not connect does not move.
  if (state.reason === "RollingOut" && daemons?.reason === "Stalled") return daemons;
  const isUnknown = daemons?.status === "Unknown" && daemons.reason !== NOT_PERMITTED;
  const wasReady = findCondition(before, conditionTypes.ready)?.status === "True";
  if (state.status === "False" || !isUnknown || wasReady) return state;
  return { status: "False", reason: DAEMONS_UNKNOWN, message: daemons.message };
}

export type ProvisionerResult<V = undefined> = StepResult<ProvisionerStatus, V>;

/** An earlier stage comes first: the condition stays what it is, and says that it waits if it never was anything. */
export function waiting(
  type: string,
  message: string,
  { object }: Pick<Snapshot, "object">,
): StepResult<object, never> {
  if (findCondition(object.status?.conditions, type)) return {};
  return { condition: { status: "Unknown", reason: "Pending", message } };
}
