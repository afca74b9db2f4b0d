import { isDeepStrictEqual } from "node:util";
import {
  type Change,
  type Condition,
  contentChanged,
  type Deployment,
  findCondition,
  type KubeObject,
  type Pod,
  type Stored,
} from "kube-controller-runtime";
import { templateOf } from "./owned-pods.ts";
import { podProblem, short, worst } from "./pod-problem.ts";
import type { PodWarnings } from "./warnings.ts";

/**
 * States of a rollout:
 *
 *     moving ──all updated and available, no old pods left──▶ complete
 *       │ ▲                                                     │ the number of pods changes
 *  a cause│ │resolved                                           ▼
 *       ▼ │                                                   scaling ──▶ complete
 *     stalled ◀────────────────────a cause──────────────────────┘
 */
export type Rollout =
  | { readonly state: "complete"; readonly recheckMs?: number }
  /** All pods match the newest spec, which was rolled out before. Only their number differs. */
  | { readonly state: "scaling"; readonly recheckMs?: number }
  | { readonly state: "moving"; readonly recheckMs?: number }
  /** It makes no progress, or does not last. The cause is a sentence. */
  | ({ readonly state: "stalled"; readonly recheckMs?: number } & StallCause);

export interface StallCause {
  readonly cause: string;
  /** Whether the cluster may resolve it without a change of the spec. */
  readonly mayResolve?: boolean;
  /** Whether a container ended recently and is running again. */
  readonly isSettling?: boolean;
  /** Whether only the progress deadline was exceeded: the pods may still be starting. */
  readonly isLate?: boolean;
}

/** Known facts about the pods of a Deployment. */
export interface PodsSeen {
  readonly pods: readonly Stored<Pod>[];
  readonly now: number;
  /** Why the API server rejects pods of the newest template. Absent if not read. */
  readonly refusal?: string | undefined;
  /** Warning events of stuck pods. */
  readonly warnings?: PodWarnings;
  /** Whether its template was rolled out before, so that only the number can differ. */
  readonly isSameTemplate?: boolean;
}

/** Whether an object was ready with the current template of its Deployment. */
export function isSameTemplate(
  before: Deployment | undefined,
  applied: Deployment | undefined,
  conditions: readonly Condition[] | undefined,
): boolean {
  const wasReady = findCondition(conditions, "Ready")?.status === "True";
  return wasReady && isDeepStrictEqual(before?.spec?.template, applied?.spec?.template);
}

/**
 * Uses the counts of the Deployment; its pods and conditions explain why they are not reached or do not last.
 */
export function rolloutOf(deployment: Deployment, seen: PodsSeen): Rollout {
  const found = causeOf(deployment, seen);
  if ("cause" in found) return { state: "stalled", ...found };
  if (isComplete(deployment)) return { state: "complete", ...found };
  const isUnseen = seen.isSameTemplate === true && !isObserved(deployment);
  return { state: isUnseen || isScaling(deployment) ? "scaling" : "moving", ...found };
}

/** The controller observed the Deployment, all replicas are updated and available, and no old ones remain. */
export function isComplete(deployment: Deployment | undefined): boolean {
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = deployment?.status ?? {};
  const wanted = deployment?.spec?.replicas ?? 1;
  return (
    isObserved(deployment) &&
    updatedReplicas === wanted &&
    replicas === wanted &&
    availableReplicas === wanted
  );
}

/** Whether its controller observed the newest spec. */
export function isObserved(deployment: Deployment | undefined): boolean {
  return (deployment?.status?.observedGeneration ?? 0) >= (deployment?.metadata?.generation ?? 0);
}

/** The controller keeps reporting a complete rollout while only the number changes or pods are lost. */
function isScaling(deployment: Deployment): boolean {
  const { replicas = 0, updatedReplicas = 0 } = deployment.status ?? {};
  const isRolledOut = conditionOf(deployment, "Progressing")?.reason === "NewReplicaSetAvailable";
  return isObserved(deployment) && isRolledOut && replicas === updatedReplicas;
}

/** Pod Security lists every violation with the field to set. */
export const MAX_REFUSAL = 1_000;

type Again = { readonly recheckMs?: number };

function causeOf(deployment: Deployment, seen: PodsSeen): (StallCause & Again) | Again {
  if (!isObserved(deployment)) return {};
  const problems = newest(seen.pods).flatMap(
    (pod) => podProblem(pod, seen.now, seen.warnings?.get(pod.metadata.uid)) ?? [],
  );
  const waits = problems.flatMap(({ afterMs }) => afterMs ?? []);
  const again = waits.length > 0 ? { recheckMs: Math.min(...waits) } : {};
  const found = worst(problems);
  const refusal = refusalOf(deployment, seen);
  if (refusal !== undefined) {
    // An existing pod is more informative than a rejected one, and the rejection may already be outdated.
    const cause = found ? `${found.message} ${explainRefusal(refusal)}` : explainRefusal(refusal);
    return { cause, mayResolve: true, recheckMs: REFUSAL_AGAIN_MS };
  }
  if (found) {
    const { message: cause, mayResolve, isSettling } = found;
    return { cause, ...(mayResolve ? { mayResolve } : {}), ...(isSettling ? { isSettling } : {}), ...again };
  }
  const progressing = conditionOf(deployment, "Progressing");
  if (progressing?.status !== "False") return again;
  const name = deployment.metadata?.name;
  const cause = `Deployment "${name}" exceeded its progress deadline; its pods start but do not become ready.`;
  return { cause, isLate: true, ...again };
}

/** The status of a Deployment does not change with the text of a rejection. */
const REFUSAL_AGAIN_MS = 15_000;

function refusalOf(deployment: Deployment, seen: PodsSeen): string | undefined {
  if ("refusal" in seen) return seen.refusal;
  const { status, message = "" } = conditionOf(deployment, "ReplicaFailure") ?? {};
  return status === "True" ? message : undefined;
}

function explainRefusal(message: string): string {
  // The API server includes the generated name of the rejected pod, which differs each time.
  const words = message.replace(/^pods "[^"]*" is /, "a pod is ");
  const advice = words.includes("violates PodSecurity")
    ? ". Set spec.presets.securityContext, and set the other listed fields in spec.securityContext; see docs/how-to/pods.md"
    : "";
  return `Pods cannot be created: ${short(words, MAX_REFUSAL).replace(/\.$/, "")}${advice}.`;
}

/**
 * Pods of the current rollout: those with the template of the youngest pod. Creation times are in whole
 * seconds, so there may be two.
 */
function newest(pods: readonly Stored<Pod>[]): readonly Stored<Pod>[] {
  const createdAt = ({ metadata }: Stored<Pod>) => Date.parse(String(metadata.creationTimestamp ?? 0));
  const youngest = Math.max(...pods.map(createdAt));
  const templates = new Set(pods.filter((pod) => createdAt(pod) === youngest).map(templateOf));
  return pods
    .filter((pod) => templates.has(templateOf(pod)))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

type DeploymentCondition = NonNullable<NonNullable<Deployment["status"]>["conditions"]>[number];

function conditionOf({ status }: Deployment, type: string): DeploymentCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

interface WithRollout extends KubeObject {
  status?: Deployment["status"];
}

/** The parts of a Deployment's status that the controllers read. */
function readOf({ status = {} }: WithRollout): object {
  const { observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas } = status;
  // Times and messages of conditions change without relevant information.
  const conditions = status.conditions?.map(({ type, status, reason }) => ({ type, status, reason }));
  return { observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas, conditions };
}

/** For Deployments: ignores irrelevant status updates. */
export function rolloutChanged(change: Change<WithRollout>): boolean {
  const { object, previous } = change;
  if (contentChanged(change) || !previous) return true;
  return !isDeepStrictEqual(readOf(previous), readOf(object));
}
