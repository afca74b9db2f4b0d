import {
  type Condition,
  type ConditionState,
  findCondition,
  type StepResult,
  summary,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { controlPlaneConditions, quietReasonsOf, summedUp, typesOf } from "../conditions.ts";

export const conditionTypes = typesOf(controlPlaneConditions);
export const quietReasons = quietReasonsOf(controlPlaneConditions);

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
  const state = summary(conditions, parts, "coderd serves and its objects are as the spec says.");
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
