import {
  type Caches,
  type Change,
  controllerOf,
  type Kind,
  type KubeObject,
  keyOfObject,
  type ObjectKey,
  Pod,
  type Stored,
} from "kube-controller-runtime";
import { managedByUs } from "../../managed-objects.ts";
import { commonLabelNames, commonLabels, identityOf, type Labels, type Parent } from "../../names.ts";
import { defined } from "../../normalize.ts";
import type { ContainerStatus } from "./container-end.ts";
import { podProblem } from "./pod-problem.ts";

/** Index of pods and of the objects that run them, by the labels that connect them. */
export const POD_OWNER_INDEX = "podOwner";

/** Labels contain shortened names, so the value is only looked up and never parsed. */
export function podOwner(parent: Parent): string {
  return podOwnerByLabels(parent.identity.namespace, commonLabels(parent));
}

/** The same value for a pod. */
export function podOwnerOfLabels({ metadata }: Stored<Pod>): string {
  return podOwnerByLabels(metadata.namespace, metadata.labels);
}

/** The value for labels in a namespace. */
export function podOwnerByLabels(namespace: string | undefined, labels: Labels = {}): string {
  return [namespace, ...commonLabelNames.map((name) => labels[name])].join("/");
}

/** Returns the value for an object, for the index of its kind. */
export function podOwnerOf(app: Parent["app"]): (object: Stored<KubeObject>) => string[] {
  return (object) => [podOwner({ app, identity: identityOf(object) })];
}

/** Shared by the controllers of provisioners and of queues, which use the same cache. */
export const podOwnerOfProvisioner = podOwnerOf("coder-provisioner");

/** Annotations of pods with busy daemons: they are deleted last, and node autoscalers do not evict them. */
export const BUSY_MARKS: Readonly<Record<string, string>> = {
  "controller.kubernetes.io/pod-deletion-cost": "1000",
  "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
  "karpenter.sh/do-not-disrupt": "true",
};

/**
 * Watches only pods of the operator, and caches only the parts that explain why a pod is not ready, and the
 * marks.
 */
export const podWatch = {
  ...managedByUs,
  indexes: { [POD_OWNER_INDEX]: (pod: Stored<Pod>) => [podOwnerOfLabels(pod)] },
  transform: trimPod,
  when: troubleChanged,
};

/** The objects of a kind to reconcile after a change of their pods. */
export function podOwners(kind: Kind): (pod: Stored<Pod>, caches: Caches) => ObjectKey[] {
  return (pod, caches) => caches.of(kind).byIndex(POD_OWNER_INDEX, podOwnerOfLabels(pod)).map(keyOfObject);
}

/** Pods of an object's Deployment. */
export function podsOf(runner: Parent & { readonly childName: string }, caches: Caches): Stored<Pod>[] {
  const isOfDeployment = (pod: Stored<Pod>) => controllerOf(pod)?.name.startsWith(`${runner.childName}-`);
  return caches.of(Pod).byIndex(POD_OWNER_INDEX, podOwner(runner)).filter(isOfDeployment);
}

/** Ignores irrelevant status updates. The Deployment reports the counts. */
function troubleChanged({ type, object, previous }: Change<Pod>): boolean {
  // A deleted pod no longer uses its image and its key.
  if (type === "deleted" || imagesOf(previous) !== imagesOf(object)) return true;
  if (isOver(previous) !== isOver(object)) return true;
  return (previous && digestOf(previous)) !== digestOf(object);
}

/** Whether all containers of a pod have ended permanently. */
function isOver(pod: Stored<Pod> | undefined): boolean {
  return pod?.status?.phase === "Succeeded" || pod?.status?.phase === "Failed";
}

/** Pulled images, which the status lists. */
function imagesOf(pod: Stored<Pod> | undefined): string {
  return (pod?.status?.containerStatuses ?? [])
    .map(({ imageID }) => imageID ?? "")
    .join(" ")
    .trim();
}

/** The parts of a pod that the controllers report, except for times. */
function digestOf(pod: Stored<Pod>): string {
  const problem = podProblem(pod, Number.POSITIVE_INFINITY);
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const restarts = [...initContainerStatuses, ...containerStatuses].map(({ restartCount }) => restartCount);
  const message = problem?.kind === "found" ? problem.message : "";
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  return [ready?.status, ready?.reason, restarts.join("+"), message].join(" ");
}

/** Whether the kubelet reports the pod as ready: its containers run and pass their probes. */
export function isReadyPod({ status }: Stored<Pod>): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === "Ready" && state === "True") ?? false;
}

/** The hash of the pod's template, set by its Deployment. */
export function templateOf({ metadata }: Stored<Pod>): string | undefined {
  return metadata.labels?.["pod-template-hash"];
}

/** Whether the kubelet reports the pod as ready, and the pod is not crash-looping. */
export function isSteadyPod(pod: Stored<Pod>, now: number): boolean {
  return isReadyPod(pod) && podProblem(pod, now)?.kind !== "found";
}

function trimPod({ apiVersion, kind, metadata, status = {} }: Stored<Pod>): Stored<Pod> {
  const { annotations = {}, managedFields: _, ...kept } = metadata;
  const marks = Object.entries(annotations).filter(([name]) => name in BUSY_MARKS);
  const { phase, conditions = [], initContainerStatuses = [], containerStatuses = [] } = status;
  return defined({
    apiVersion,
    kind,
    metadata: marks.length > 0 ? { ...kept, annotations: Object.fromEntries(marks) } : kept,
    status: defined({
      phase,
      conditions: conditions.filter(({ type }) => type === "PodScheduled" || type === "Ready"),
      initContainerStatuses: initContainerStatuses.map(containerState),
      containerStatuses: containerStatuses.map(containerState),
    }),
  });
}

function containerState(status: ContainerStatus): ContainerStatus {
  const { name, image, imageID, ready, restartCount, state, lastState } = status;
  return defined({ name, image, imageID, ready, restartCount, state, lastState });
}
