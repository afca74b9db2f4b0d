import type { ConditionState } from "../conditions.ts";
import type { StepResult } from "../controller/steps.ts";

/** The step's objects are as they should be. */
export function applied(message: string): StepResult<object> {
  return { condition: { status: "True", reason: "Applied", message } };
}

/** The spec asks for nothing that the step would make. */
export function notRequested(message: string): StepResult<object> {
  return { condition: { status: "True", reason: "NotRequested", message } };
}

/** Something outside has to change first; it is looked at again, calmly. */
export function blocked<S extends object = object>(
  reason: string,
  message: string,
  more: Pick<StepResult<S>, "status" | "requeueAfterMs"> = {},
): StepResult<S, never> {
  return { condition: { status: "False", reason, message }, ...more };
}

/** The one condition to wait for: True when no part is False, else it repeats the first that is. */
export function summary(
  conditions: ReadonlyMap<string, ConditionState>,
  parts: readonly string[],
  message: string,
): ConditionState {
  const states = parts.flatMap((type) => conditions.get(type) ?? []);
  const blocking = states.find(({ status }) => status === "False");
  return blocking ?? { status: "True", reason: "Serving", message };
}
