import { findCondition } from "../conditions.ts";
import { describeForeign, type ForeignObject, type Owner } from "../controller/ownership.ts";
import type { WithConditions, WithStatus } from "../controller/status.ts";
import type { Explanation, StepResult } from "../controller/steps.ts";
import { resourceName } from "../object.ts";

/** True while the name of a child is taken by an object of another owner; absent otherwise. */
export const CONFLICT = "Conflict";

/**
 * A foreign object is followed from the end of a run; changes right before that are found by reading it
 * again.
 */
const RETRY_MS = 30_000;

/** The condition of a step that found names taken by objects of other owners. */
export function explainConflict(objects: readonly [ForeignObject, ...ForeignObject[]]): Explanation {
  const message = `${objects.map(describeForeign).join("; ")}. See condition ${CONFLICT} for how to resolve it.`;
  return { reason: reasonOf(objects[0]), message, retryAfterMs: RETRY_MS };
}

/** How to resolve a conflict, as provided by the operator. */
export interface ConflictAdvice {
  /** The annotation that hands an object over. */
  readonly handOver: string;
  /** Further ways for some kinds. */
  readonly also?: (object: ForeignObject) => readonly string[];
}

/**
 * Lists all foreign objects that have the names of an object's children, and how to resolve each conflict.
 */
export function reportConflicts(
  conflicts: readonly ForeignObject[],
  { object, owner }: { readonly object: WithStatus<WithConditions>; readonly owner: Owner },
  advice: ConflictAdvice,
): StepResult<object> {
  const [first] = conflicts;
  if (!first) return findCondition(object.status?.conditions, CONFLICT) ? { noCondition: true } : {};
  const message = conflicts
    .map((object) => `${describeForeign(object)}; ${waysOut(object, owner, advice)}.`)
    .join(" ");
  return { condition: { status: "True", reason: reasonOf(first), message } };
}

function reasonOf({ kind }: ForeignObject): string {
  return `${kind.kind}NotOurs`;
}

function waysOut(foreign: ForeignObject, owner: Owner, { handOver, also }: ConflictAdvice): string {
  const { kind, ref, obstacle } = foreign;
  const target = `${resourceName(kind)} ${ref.name}`;
  const mark = `${handOver}=${owner.kind.kind}/${owner.object.metadata.name}`;
  const ways = [
    "choose another name",
    kind.kind === "Deployment"
      ? `remove it (kubectl -n ${ref.namespace} delete ${target} --cascade=orphan leaves its pods running)`
      : "remove it",
    ...(also?.(foreign) ?? []),
    ...(obstacle ? [] : [`hand it over: kubectl -n ${ref.namespace} annotate ${target} ${mark}`]),
  ];
  return `${ways.slice(0, -1).join(", ")} or ${ways.at(-1)}`;
}
