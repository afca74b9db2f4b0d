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

/** An object of ours whose pods may be protected from drains. */
export interface Disruptable extends Parent {
  readonly childName: string;
  readonly pod: Pick<PodSettings, "podDisruptionBudget">;
}

/** Limits how many pods a drain may evict at a time; absent when the spec does not ask for it. */
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
 * Keeps the PodDisruptionBudget that the spec asks for, and removes the one that it asks for no longer. The condition is
 * there only for an object that asks for a budget, or has one that can't be removed.
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
