import { findCondition, type StepResult } from "kube-controller-runtime";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { Snapshot } from "../observe.ts";

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
