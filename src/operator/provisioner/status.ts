import {
  type Condition,
  type ConditionState,
  findCondition,
  type StepResult,
  summary,
} from "kube-controller-runtime";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import { DAEMONS_UNKNOWN, provisionerConditions, quietReasonsOf, summedUp, typesOf } from "../conditions.ts";
import type { Snapshot } from "./observe.ts";

/** The pods alone count. */
export const NOT_PERMITTED = "NotPermitted";

export const conditionTypes = typesOf(provisionerConditions);
export const quietReasons = quietReasonsOf(provisionerConditions);

/** How many daemons there are says nothing about whether they serve. */
const parts = summedUp(provisionerConditions);

/**
 * The one condition to wait for: True when the daemons serve and every stage is as the spec says. A coderd that can't be
 * asked changes nothing for daemons that were connected; others are not taken to be.
 */
export function readiness(
  conditions: ReadonlyMap<string, ConditionState>,
  before?: readonly Condition[],
): ConditionState {
  const state = summary(conditions, parts, "The daemons are available, and all objects match the spec.");
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
