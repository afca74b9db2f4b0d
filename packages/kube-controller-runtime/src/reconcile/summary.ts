import type { ConditionState } from "../conditions.ts";

/** The one condition to wait for: True when no part is False, else it names the first that is. */
export function summary(
  conditions: ReadonlyMap<string, ConditionState>,
  parts: readonly string[],
  message: string,
): ConditionState {
  const blocking = parts.find((type) => conditions.get(type)?.status === "False");
  const because = blocking && conditions.get(blocking)?.message;
  if (blocking && because) return { status: "False", reason: blocking, message: because };
  return { status: "True", reason: "Serving", message };
}
