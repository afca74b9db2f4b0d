import type { ConditionState } from "../conditions.ts";
import type { StepResult } from "../controller/steps.ts";

/** The step's objects are as desired. */
export function applied(message: string): StepResult<object> {
  return { condition: { status: "True", reason: "Applied", message } };
}

/** The spec does not request anything from the step. */
export function notRequested(message: string): StepResult<object> {
  return { condition: { status: "True", reason: "NotRequested", message } };
}

/** An external change must happen first; the step is retried at a low rate. */
export function blocked<S extends object = object>(
  reason: string,
  message: string,
  more: Pick<StepResult<S>, "status" | "requeueAfterMs"> = {},
): StepResult<S, never> {
  return { condition: { status: "False", reason, message }, ...more };
}

/** The summary condition: True if no part is False, otherwise it repeats the first that is. */
export function summary(
  conditions: ReadonlyMap<string, ConditionState>,
  parts: readonly string[],
  message: string,
): ConditionState {
  const states = parts.flatMap((type) => conditions.get(type) ?? []);
  const blocking = states.find(({ status }) => status === "False");
  return blocking ?? { status: "True", reason: "Serving", message };
}
