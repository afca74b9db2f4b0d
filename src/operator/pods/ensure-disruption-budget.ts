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
import { type Disruptable, disruptionBudget } from "./disruption-budget.ts";

/** There only for an object that asks for a budget, or has one that can't be removed. */
export const DISRUPTION_BUDGET = "DisruptionBudgetReady";

interface Asking {
  readonly object: WithStatus<{ conditions?: Condition[] }>;
  readonly owner: Owner;
}

/** Keeps the PodDisruptionBudget that the spec asks for, and removes the one that it asks for no longer. */
export async function ensureDisruptionBudget(
  { object, owner }: Asking,
  { children }: { readonly children: Pick<Children, "converge"> },
  parent: Disruptable,
): Promise<StepResult<object>> {
  const desired = disruptionBudget(parent);
  await children.converge(PodDisruptionBudget, desired ? [desired] : [], owner);
  if (desired)
    return applied(
      `PodDisruptionBudget "${parent.childName}" limits how many pods a drain evicts at a time.`,
    );
  return findCondition(object.status?.conditions, DISRUPTION_BUDGET) ? { noCondition: true } : {};
}
