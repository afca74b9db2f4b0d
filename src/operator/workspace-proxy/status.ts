import { type ConditionState, type StepResult, summary } from "kube-controller-runtime";
import type { WorkspaceProxyStatus } from "../../api/v1alpha1/workspace-proxy.ts";
import { quietReasonsOf, summarizedConditions, typesOf, workspaceProxyConditions } from "../conditions.ts";

export const conditionTypes = typesOf(workspaceProxyConditions);
export const quietReasons = quietReasonsOf(workspaceProxyConditions);

const parts = summarizedConditions(workspaceProxyConditions);

export function readiness(conditions: ReadonlyMap<string, ConditionState>): ConditionState {
  return summary(conditions, parts, "The proxy is available, and all objects match the spec.");
}

export type WorkspaceProxyResult<V = undefined> = StepResult<WorkspaceProxyStatus, V>;
