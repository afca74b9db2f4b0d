import {
  applied,
  type Children,
  type Condition,
  findCondition,
  type Owner,
  PodDisruptionBudget,
  type StepResult,
  type WithStatus,
} from "kube-controller-runtime";
import { workloadConditions } from "../conditions.ts";
import { childMetadata, commonLabels, type Parent } from "../names.ts";
import { defined } from "../normalize.ts";
import type { PodSettings } from "./settings.ts";

/** An object whose pods can be protected from node drains. */
export interface Disruptable extends Parent {
  readonly childName: string;
  readonly pod: Pick<PodSettings, "podDisruptionBudget">;
}

/** Limits how many pods a node drain can evict at a time. Undefined if the spec does not request it. */
export function disruptionBudget(parent: Disruptable): PodDisruptionBudget | undefined {
  const { podDisruptionBudget: budget } = parent.pod;
  if (!budget) return undefined;
  const { maxUnavailable, minAvailable, unhealthyPodEvictionPolicy } = budget;
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: childMetadata(parent, parent.childName),
    spec: {
      ...defined({ maxUnavailable, minAvailable, unhealthyPodEvictionPolicy }),
      selector: { matchLabels: commonLabels(parent) },
    },
  };
}

/**
 * Applies the PodDisruptionBudget in the spec, and deletes an earlier one. The condition exists only if the
 * spec requests a budget, or if an earlier one cannot be deleted.
 */
export async function ensureDisruptionBudget(
  { object, owner }: { readonly object: WithStatus<{ conditions?: Condition[] }>; readonly owner: Owner },
  { children }: { readonly children: Pick<Children, "converge"> },
  parent: Disruptable,
): Promise<StepResult<object>> {
  const desired = disruptionBudget(parent);
  await children.converge(PodDisruptionBudget, desired ? [desired] : [], owner);
  if (desired)
    return applied(
      `PodDisruptionBudget "${parent.childName}" limits how many pods a node drain evicts at a time.`,
    );
  return findCondition(object.status?.conditions, workloadConditions.disruption.type)
    ? { noCondition: true }
    : {};
}
