import type { ControlPlaneStatus } from "../../../api/v1alpha1/control-plane.ts";
import type { StepResult } from "../../../runtime/controller/steps.ts";

export type Result<V = undefined> = StepResult<ControlPlaneStatus, V>;

/** The step's objects are as they should be. */
export function applied(message: string): Result {
  return { condition: { status: "True", reason: "Applied", message } };
}

/** Something outside has to change first; it is looked at again, calmly. */
export function blocked<V = undefined>(
  reason: string,
  message: string,
  more: Pick<Result<V>, "status" | "requeueAfterMs"> = {},
): Result<V> {
  return { condition: { status: "False", reason, message }, ...more };
}
