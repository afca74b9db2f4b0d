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
import { templateOf } from "./our-pods.ts";
import { podTrouble, short, worst } from "./pod-trouble.ts";
import type { PodWarnings } from "./warnings.ts";

/**
 * How far the pods of a Deployment are behind its spec:
 *
 *     moving ──all updated and available, none of an older spec left──▶ complete
 *       │ ▲                                                                │ the number changes, or pods come
 *  a cause│ │it is gone                                                    ▼ and go
 *       ▼ │                                                              scaling ──▶ complete
 *     stalled ◀──────────────────────────a cause──────────────────────────┘
 */
export type Rollout =
  | { readonly state: "complete"; readonly lookAgainMs?: number }
  /** Every pod is of the newest spec, which has been rolled out before: only their number is not what it should be. */
  | { readonly state: "scaling"; readonly lookAgainMs?: number }
  | { readonly state: "moving"; readonly lookAgainMs?: number }
  /** It does not go on by itself, or does not last; the cause is a sentence for a person. */
  | ({ readonly state: "stalled"; readonly lookAgainMs?: number } & Hindrance);

export interface Hindrance {
  readonly cause: string;
  /** Whether the cluster may resolve it without another spec. */
  readonly mayPass?: boolean;
  /** Whether a container ended a moment ago and runs again. */
  readonly isSettling?: boolean;
  /** Whether nothing is known but that the Deployment's deadline has passed: its pods may still be starting. */
  readonly isLate?: boolean;
}

/** What is known about the pods of a Deployment. */
export interface PodsSeen {
  readonly pods: readonly Stored<Pod>[];
  readonly now: number;
  /** Why the API server refuses pods of the newest template; known only to who has looked. */
  readonly refusal?: string | undefined;
  /** What events say of those that are stuck. */
  readonly warnings?: PodWarnings;
  /** Whether its template is one that was rolled out before, so that only the number can be new. */
  readonly isSameTemplate?: boolean;
}

/** Whether an object was ready with the template that its Deployment has now. */
export function isSameTemplate(
  before: Deployment | undefined,
  applied: Deployment | undefined,
  conditions: readonly Condition[] | undefined,
): boolean {
  const wasReady = findCondition(conditions, "Ready")?.status === "True";
  return wasReady && isDeepStrictEqual(before?.spec?.template, applied?.spec?.template);
}

/** Judges by the Deployment's own counts; its pods and conditions say why they are not reached, or will not last. */
export function rolloutOf(deployment: Deployment, seen: PodsSeen): Rollout {
  const found = causeOf(deployment, seen);
  if ("cause" in found) return { state: "stalled", ...found };
  if (isComplete(deployment)) return { state: "complete", ...found };
  const isUnseen = seen.isSameTemplate === true && !isObserved(deployment);
  return { state: isUnseen || isScaling(deployment) ? "scaling" : "moving", ...found };
}

/** The Deployment was seen by its controller; all replicas are updated and available, and none is old. */
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

/** Whether its controller has seen the newest spec. */
export function isObserved(deployment: Deployment | undefined): boolean {
  return (deployment?.status?.observedGeneration ?? 0) >= (deployment?.metadata?.generation ?? 0);
}

/** Its controller keeps saying that the newest spec is rolled out while only the number changes, or pods are lost. */
function isScaling(deployment: Deployment): boolean {
  const { replicas = 0, updatedReplicas = 0 } = deployment.status ?? {};
  const isRolledOut = conditionOf(deployment, "Progressing")?.reason === "NewReplicaSetAvailable";
  return isObserved(deployment) && isRolledOut && replicas === updatedReplicas;
}

/** Pod Security lists every requirement that is not met, each with what to set. */
export const MAX_REFUSAL = 1_000;

type Again = { readonly lookAgainMs?: number };

function causeOf(deployment: Deployment, seen: PodsSeen): (Hindrance & Again) | Again {
  if (!isObserved(deployment)) return {};
  const troubles = newest(seen.pods).flatMap(
    (pod) => podTrouble(pod, seen.now, seen.warnings?.get(pod.metadata.uid)) ?? [],
  );
  const waits = troubles.flatMap(({ afterMs }) => afterMs ?? []);
  const again = waits.length > 0 ? { lookAgainMs: Math.min(...waits) } : {};
  const found = worst(troubles);
  const refusal = refusalOf(deployment, seen);
  if (refusal !== undefined) {
    // A pod that exists says more than one that does not, and the refusal may be over before it is withdrawn.
    const cause = found ? `${found.message} ${explainRefusal(refusal)}` : explainRefusal(refusal);
    return { cause, mayPass: true, lookAgainMs: REFUSAL_AGAIN_MS };
  }
  if (found) {
    const { message: cause, mayPass, isSettling } = found;
    return { cause, ...(mayPass ? { mayPass } : {}), ...(isSettling ? { isSettling } : {}), ...again };
  }
  const progressing = conditionOf(deployment, "Progressing");
  if (progressing?.status !== "False") return again;
  const name = deployment.metadata?.name;
  const cause = `Deployment "${name}" exceeded its progress deadline; its pods start but do not become ready.`;
  return { cause, isLate: true, ...again };
}

/** A Deployment's status does not tell when the words of a refusal change. */
const REFUSAL_AGAIN_MS = 15_000;

function refusalOf(deployment: Deployment, seen: PodsSeen): string | undefined {
  if ("refusal" in seen) return seen.refusal;
  const { status, message = "" } = conditionOf(deployment, "ReplicaFailure") ?? {};
  return status === "True" ? message : undefined;
}

function explainRefusal(message: string): string {
  // The API server names a pod that never came to be, by another name each time.
  const words = message.replace(/^pods "[^"]*" is /, "a pod is ");
  const advice = words.includes("violates PodSecurity")
    ? ". Set spec.presets.securityContext, and set the other listed fields in spec.securityContext; see docs/how-to/pods.md"
    : "";
  return `Pods cannot be created: ${short(words, MAX_REFUSAL).replace(/\.$/, "")}${advice}.`;
}

/**
 * The pods of the spec that is being rolled out, by name: those of the youngest pod's template. Ages are whole seconds,
 * so there may be two youngest.
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

/** Everything that our controllers read of a Deployment's status. */
function readOf({ status = {} }: WithRollout): object {
  const { observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas } = status;
  // The times and messages of conditions tick without saying anything new.
  const conditions = status.conditions?.map(({ type, status, reason }) => ({ type, status, reason }));
  return { observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas, conditions };
}

/** For Deployments: a tick of the status that changes nothing we read causes no run. */
export function rolloutMoved(change: Change<WithRollout>): boolean {
  const { object, previous } = change;
  if (contentChanged(change) || !previous) return true;
  return !isDeepStrictEqual(readOf(previous), readOf(object));
}
