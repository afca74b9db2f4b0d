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
import { podTrouble, short } from "./pod-trouble.ts";

/**
 * How far the pods of a Deployment are behind its spec:
 *
 *     moving ──all updated and available, none of an older spec left──▶ complete
 *       │ ▲                                                                │ the number changes, or pods come
 *  a cause│ │it is gone                                                    ▼ and go
 *       ▼ │                                                              scaling ──▶ complete
 *     stalled
 */
export type Rollout =
  | { readonly state: "complete" }
  /** Every pod is of the newest spec, which has been rolled out before: only their number is not what it should be. */
  | ({ readonly state: "scaling"; readonly lookAgainMs?: number } & Partial<Hindrance>)
  | { readonly state: "moving"; readonly lookAgainMs?: number }
  /** It does not go on by itself; the cause is a sentence for a person. */
  | ({ readonly state: "stalled" } & Hindrance);

export interface Hindrance {
  readonly cause: string;
  /** Whether the cluster may resolve it without another spec. */
  readonly mayPass?: boolean;
  /** Whether nothing is known but that the Deployment's deadline has passed: its pods may still be starting. */
  readonly isLate?: boolean;
}

/** What is known about the pods of a Deployment. */
export interface PodsSeen {
  readonly pods: readonly Stored<Pod>[];
  readonly now: number;
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

/** Judges by the Deployment's own counts; its pods and conditions only say why they are not reached. */
export function rolloutOf(deployment: Deployment, seen: PodsSeen): Rollout {
  if (isComplete(deployment)) return { state: "complete" };
  const found = causeOf(deployment, seen);
  const isUnseen = seen.isSameTemplate === true && !isObserved(deployment);
  if (isUnseen || isScaling(deployment)) return { state: "scaling", ...found };
  return "cause" in found ? { state: "stalled", ...found } : { state: "moving", ...found };
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

/** Its controller keeps saying that the newest spec is rolled out while only the number changes. */
function isScaling(deployment: Deployment): boolean {
  const { replicas = 0, updatedReplicas = 0 } = deployment.status ?? {};
  const isRolledOut = conditionOf(deployment, "Progressing")?.reason === "NewReplicaSetAvailable";
  return isObserved(deployment) && isRolledOut && replicas === updatedReplicas;
}

function causeOf(
  deployment: Deployment,
  { pods, now }: PodsSeen,
): Hindrance | { readonly lookAgainMs?: number } {
  if (!isObserved(deployment)) return {};
  const refusal = conditionOf(deployment, "ReplicaFailure");
  if (refusal?.status === "True") {
    return { cause: `No pod can be created: ${short(refused(refusal.message ?? ""))}`, mayPass: true };
  }
  const troubles = newest(pods).flatMap((pod) => podTrouble(pod, now) ?? []);
  const found = troubles.find((trouble) => trouble.kind === "found");
  if (found) return { cause: found.message, ...(found.mayPass ? { mayPass: true } : {}) };
  const progressing = conditionOf(deployment, "Progressing");
  if (progressing?.status === "False") {
    const name = deployment.metadata?.name;
    return {
      cause: `Deployment "${name}" has made no progress for longer than its deadline; its pods start and do not become ready.`,
      isLate: true,
    };
  }
  const waits = troubles.flatMap((trouble) => (trouble.kind === "perhaps" ? [trouble.afterMs] : []));
  return waits.length > 0 ? { lookAgainMs: Math.min(...waits) } : {};
}

/** The API server names a pod that never came to be, by another name each time. */
function refused(message: string): string {
  return message.replace(/^pods "[^"]*" is /, "a pod is ");
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

function templateOf({ metadata }: Stored<Pod>): string | undefined {
  return metadata.labels?.["pod-template-hash"];
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
