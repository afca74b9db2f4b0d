import { type Condition, findCondition, type Stored, UNREPORTED } from "kube-controller-runtime";
import { CoderControlPlane } from "../api/v1alpha1/kinds.ts";
import {
  CHOSEN_REASONS,
  type ConditionRow,
  causeRank,
  controlPlaneConditions,
  entityConditions,
  provisionerConditions,
  quietReasonsOf,
  WARNING_REASONS,
  workspaceProxyConditions,
} from "../operator/conditions.ts";
import { defined } from "../operator/normalize.ts";
import type { OurObject } from "./objects.ts";

/** A problem of an object to report to the user. */
export interface Problem {
  /** `wrong` needs a user; `waiting` ends by itself. */
  readonly severity: "wrong" | "waiting";
  /** `kind/name`. */
  readonly object: string;
  /** The type of the condition that reports it. */
  readonly condition: string;
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
}

const tables = [controlPlaneConditions, provisionerConditions, workspaceProxyConditions, entityConditions];
/** By type; a type means the same for every kind. Types of a newer operator are absent. */
const rows: ReadonlyMap<string, ConditionRow> = new Map(
  tables.flatMap((table) => Object.values<ConditionRow>(table)).map((row) => [row.type, row]),
);

const PASSING: ReadonlySet<string> = new Set([
  ...tables.flatMap((table) => [...quietReasonsOf(table)]),
  UNREPORTED,
]);

/** The problems of an object: its deletion, and what its conditions report. */
export function problemsOf(object: string, stored: Stored<OurObject>): Problem[] {
  return [...deletionOf(object, stored), ...conditionProblems(object, stored)];
}

function deletionOf(object: string, { metadata }: Stored<OurObject>): Problem[] {
  const { deletionTimestamp: since, finalizers = [] } = metadata;
  if (!since) return [];
  const ours = finalizers.filter((name) => name.startsWith(`${CoderControlPlane.apiVersion.split("/")[0]}/`));
  const message =
    ours.length > 0
      ? `The object is being deleted; the operator removes finalizer ${ours.join(", ")} after its cleanup.`
      : `The object is being deleted; remaining finalizers: ${finalizers.join(", ") || "none"}.`;
  return [{ severity: "waiting", object, condition: "Deletion", reason: "BeingDeleted", message, since }];
}

/**
 * The problems that the conditions of an object report, causes first; `Ready` only if no other condition
 * explains it.
 */
function conditionProblems(object: string, { metadata, status }: Stored<OurObject>): Problem[] {
  const conditions = status?.conditions ?? [];
  const found = conditions
    .filter(({ type }) => type !== "Ready" && type !== "Paused")
    .filter(isProblem)
    .toSorted((a, b) => causeRank(b) - causeRank(a))
    .map((condition) => problem(object, condition));
  const ready = findCondition(conditions, "Ready");
  if (found.length > 0 || ready?.status === "True") return found;
  if (ready) return CHOSEN_REASONS.has(ready.reason) ? [] : [problem(object, ready)];
  if (findCondition(conditions, "Paused")?.status === "True") return [];
  const message = "The operator has not reported a status yet. If this persists, run: kubectl coder check";
  const unseen = { severity: "waiting", object, condition: "Ready", reason: "Unreported", message } as const;
  return [{ ...unseen, ...defined({ since: metadata.creationTimestamp }) }];
}

function isProblem({ type, status, reason }: Condition): boolean {
  const { polarity, isAsked, isRepeated } = rows.get(type) ?? { polarity: "good" };
  if (polarity === "informative" || isRepeated) return false;
  if (WARNING_REASONS.has(reason)) return true;
  if (CHOSEN_REASONS.has(reason)) return false;
  if (polarity === "bad") return status === "True";
  return status === "False" || (status === "Unknown" && isAsked === true);
}

function problem(object: string, condition: Condition): Problem {
  const { type, status, reason, message, lastTransitionTime } = condition;
  const severity: Problem["severity"] = PASSING.has(reason) || status === "Unknown" ? "waiting" : "wrong";
  const since = lastTransitionTime || undefined;
  return defined({ severity, object, condition: type, reason, message, since });
}
