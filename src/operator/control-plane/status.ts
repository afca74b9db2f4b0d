import {
  type Condition,
  type ConditionState,
  findCondition,
  type StepResult,
  summary,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import {
  causeRank,
  controlPlaneConditions,
  quietReasonsOf,
  summarizedConditions,
  typesOf,
} from "../conditions.ts";

export const conditionTypes = typesOf(controlPlaneConditions);
export const quietReasons = quietReasonsOf(controlPlaneConditions);

const failingPods = { type: conditionTypes.deployment, reason: "Stalled" } as const;

/** Whether coderd is available and reachable as specified. */
const parts = summarizedConditions(controlPlaneConditions);

/**
 * The condition to wait for. While pods start or crash, its message includes database problems, because
 * coderd needs its database.
 */
export function readiness(
  conditions: ReadonlyMap<string, ConditionState>,
  before: readonly Condition[] = [],
): ConditionState {
  const state = summary(conditions, parts, "coderd is available, and all objects match the spec.");
  const access = findCondition(before, conditionTypes.access);
  const isOfPods = state.status === "False" && state === conditions.get(conditionTypes.deployment);
  const isCause = access?.status === "False" && causeRank(access) > causeRank(failingPods);
  return isOfPods && isCause ? { ...state, message: `${access.message} ${state.message}` } : state;
}

export type ControlPlaneResult<V = undefined> = StepResult<ControlPlaneStatus, V>;

/** The state is unknown. */
export function unknown(reason: string, message: string): ControlPlaneResult<never> {
  return { condition: { status: "Unknown", reason, message } };
}
