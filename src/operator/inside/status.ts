import { type ConditionState, type StepResult, summary } from "kube-controller-runtime";
import type { EntityStatus } from "../../api/v1alpha1/inside.ts";
import { entityConditions, quietReasonsOf, summarizedConditions, typesOf } from "../conditions.ts";

export const conditionTypes = typesOf(entityConditions);
export const quietReasons = quietReasonsOf(entityConditions);

export type EntityResult<V = undefined> = StepResult<EntityStatus, V>;

/** Result of a comparison, and the delay until the next. */
export interface Verdict {
  readonly condition: ConditionState;
  readonly dueInMs: number;
}

/** Interval between comparisons while nothing changes. */
export const COMPARE_EVERY_MS = 10 * 60_000;

/** The entity is as the spec says. */
export const UP_TO_DATE = "UpToDate";

/** Reasons that require a person. All others resolve without one. */
const NEEDS_PERSON: ReadonlySet<string> = new Set([
  ...["ExistsAlready", "ClaimedByOlder", "ManagedByIdP", "Drifted", "EntityMissing"],
  ...["NotEntitled", "NotSupported", "Forbidden", "Rejected", "DeletionRefused"],
  ...["NotConfigured", "TokenMalformed", "SecretNotAllowed"],
]);

/** Reasons for which the entity, or a part of it, belongs to someone else. */
const CONFLICTS: ReadonlySet<string> = new Set(["ExistsAlready", "ClaimedByOlder", "ManagedByIdP"]);

const parts = summarizedConditions(entityConditions);

/** True when coderd has the entity as the spec says. */
export function readiness(conditions: ReadonlyMap<string, ConditionState>): ConditionState {
  const state = summary(conditions, parts, "");
  return state.status === "False" ? state : (conditions.get(conditionTypes.synced) ?? state);
}

/** The conditions that follow from the others. Those of kstatus are there only while they are True. */
export function outcome(conditions: ReadonlyMap<string, ConditionState>) {
  const ready = readiness(conditions);
  const { reason, message } = ready;
  const says = (isSo: boolean): EntityResult =>
    isSo ? { condition: { status: "True", reason, message } } : { noCondition: true };
  const isReady = ready.status === "True";
  return {
    conflict: says(CONFLICTS.has(reason)),
    reconciling: says(!isReady && !NEEDS_PERSON.has(reason)),
    stalled: says(!isReady && NEEDS_PERSON.has(reason)),
    ready: { condition: ready } satisfies EntityResult,
  };
}
