import type { V1Condition } from "@kubernetes/client-node";
import { timestamp } from "./clock.ts";
import type { Wire } from "./object.ts";
import { redactText } from "./redact/redactor.ts";

/** A condition as Kubernetes stores it. */
export type Condition = Wire<V1Condition>;

/** The state that a step reports for its condition; times and generation are added when it is stored. */
export interface ConditionState {
  readonly status: "True" | "False" | "Unknown";
  /** One word in CamelCase, for machines and for searching the documentation. */
  readonly reason: string;
  /** A sentence for users of `kubectl describe`: what is wrong, with which object, what to do. */
  readonly message: string;
}

/**
 * Sets a condition in a list keyed by type. The transition time changes only with the status. If nothing
 * changes, the result is the same list, so that an unchanged status stays equal. The message is redacted by
 * `redactText`, because steps quote servers.
 */
export function setCondition(
  conditions: readonly Condition[],
  type: string,
  next: ConditionState & { readonly observedGeneration?: number | undefined; readonly now: number },
): readonly Condition[] {
  const present = findCondition(conditions, type);
  const condition: Condition = {
    type,
    status: next.status,
    reason: next.reason,
    // A stored message is already redacted.
    message: next.message === present?.message ? next.message : redactText(next.message),
    ...(next.observedGeneration === undefined ? {} : { observedGeneration: next.observedGeneration }),
    lastTransitionTime: present?.status === next.status ? present.lastTransitionTime : timestamp(next.now),
  };
  if (present && isSame(present, condition)) return conditions;
  if (!present) return [...conditions, condition];
  return conditions.map((candidate) => (candidate === present ? condition : candidate));
}

/** The type of the condition that summarizes the others. */
export const READY = "Ready";

/** The condition of a type, if present. */
export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether both have the same content, ignoring fields that others may have added. */
function isSame(one: Condition, other: Condition): boolean {
  const fields = ["status", "reason", "message", "observedGeneration"] as const;
  return fields.every((field) => one[field] === other[field]);
}
