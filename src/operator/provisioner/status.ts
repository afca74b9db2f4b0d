import {
  type Condition,
  type ConditionState,
  findCondition,
  type StepResult,
  summary,
} from "kube-controller-runtime";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import {
  DAEMONS_UNKNOWN,
  provisionerConditions,
  quietReasonsOf,
  summarizedConditions,
  typesOf,
} from "../conditions.ts";
import type { Snapshot } from "./observe.ts";

/** Only the pods count. */
export const NOT_PERMITTED = "NotPermitted";

export const conditionTypes = typesOf(provisionerConditions);
export const quietReasons = quietReasonsOf(provisionerConditions);

/** The number of daemons does not affect availability. */
const parts = summarizedConditions(provisionerConditions);

/**
 * The condition to wait for: True if the daemons are available and every stage matches the spec. If coderd is
 * unavailable, connected daemons still count as connected, and others do not.
 */
export function readiness(
  conditions: ReadonlyMap<string, ConditionState>,
  before?: readonly Condition[],
): ConditionState {
  const state = summary(conditions, parts, "The daemons are available, and all objects match the spec.");
  const daemons = conditions.get(conditionTypes.daemons);
  // A rollout that waits for daemons that do not connect makes no progress.
  if (state.reason === "RollingOut" && daemons?.reason === "Stalled") return daemons;
  const isUnknown = daemons?.status === "Unknown" && daemons.reason !== NOT_PERMITTED;
  const wasReady = findCondition(before, conditionTypes.ready)?.status === "True";
  if (state.status === "False" || !isUnknown || wasReady) return state;
  return { status: "False", reason: DAEMONS_UNKNOWN, message: daemons.message };
}

export type ProvisionerResult<V = undefined> = StepResult<ProvisionerStatus, V>;

/** An earlier stage is not complete: keeps the condition, or sets it to waiting if it does not exist yet. */
export function waiting(
  type: string,
  message: string,
  { object }: Pick<Snapshot, "object">,
): StepResult<object, never> {
  if (findCondition(object.status?.conditions, type)) return {};
  return { condition: { status: "Unknown", reason: "Pending", message } };
}
