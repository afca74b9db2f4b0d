import {
  type Condition,
  type ConditionState,
  findCondition,
  type StepResult,
  summary,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { basicness, controlPlaneConditions, quietReasonsOf, summedUp, typesOf } from "../conditions.ts";

export const conditionTypes = typesOf(controlPlaneConditions);
export const quietReasons = quietReasonsOf(controlPlaneConditions);

const failingPods = { type: conditionTypes.deployment, reason: "Stalled" } as const;

/** Whether coderd serves, and is reachable as the spec says. */
const parts = summedUp(controlPlaneConditions);

/**
 * The one condition to wait for. While pods start or crash, what was found out about the database is told with it: without
 * one that works, coderd does not serve.
 */
export function readiness(
  conditions: ReadonlyMap<string, ConditionState>,
  before: readonly Condition[] = [],
): ConditionState {
  const state = summary(conditions, parts, "coderd is available, and all objects match the spec.");
  const access = findCondition(before, conditionTypes.access);
  const isOfPods = state.status === "False" && state === conditions.get(conditionTypes.deployment);
  const isCause = access?.status === "False" && basicness(access) > basicness(failingPods);
  return isOfPods && isCause ? { ...state, message: `${access.message} ${state.message}` } : state;
}

export type ControlPlaneResult<V = undefined> = StepResult<ControlPlaneStatus, V>;

/** Nobody can say whether it is so. */
export function unknown(reason: string, message: string): ControlPlaneResult<never> {
  return { condition: { status: "Unknown", reason, message } };
}
