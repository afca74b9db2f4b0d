import type { ConditionState } from "../conditions.ts";

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
