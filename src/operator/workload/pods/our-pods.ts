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
import { podTrouble } from "./pod-trouble.ts";

/** The index of pods, and of the objects that run them, by the labels that tie the ones to the others. */
export const POD_OWNER_INDEX = "podOwner";

/** A long name is shortened in the label, so the tie is looked up and never read as a name. */
export function podOwner(parent: Parent): string {
  return podOwnerByLabels(parent.identity.namespace, commonLabels(parent));
}

/** The same tie, as a pod has it. */
export function podOwnerOfLabels({ metadata }: Stored<Pod>): string {
  return podOwnerByLabels(metadata.namespace, metadata.labels);
}

/** The tie by labels, in a namespace. */
export function podOwnerByLabels(namespace: string | undefined, labels: Labels = {}): string {
  return [namespace, ...commonLabelNames.map((name) => labels[name])].join("/");
}

/** The tie under which an object's pods are found, for the index of its kind. */
export function podOwnerOf(app: Parent["app"]): (object: Stored<KubeObject>) => string[] {
  return (object) => [podOwner({ app, identity: identityOf(object) })];
}

/** One function for the controllers of provisioners and of queues, which share a cache. */
export const podOwnerOfProvisioner = podOwnerOf("coder-provisioner");

/** What the pod of a busy daemon is marked with: the last to be removed, and none for a node autoscaler to take. */
export const BUSY_MARKS: Readonly<Record<string, string>> = {
  "controller.kubernetes.io/pod-deletion-cost": "1000",
  "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
  "karpenter.sh/do-not-disrupt": "true",
};

/** How pods are watched: ours only, and of them only what says why one does not become ready, and our marks. */
export const podWatch = {
  ...managedByUs,
  indexes: { [POD_OWNER_INDEX]: (pod: Stored<Pod>) => [podOwnerOfLabels(pod)] },
  transform: withoutWhatNobodyReads,
  when: troubleChanged,
};

/** The objects of a kind to run when a pod of theirs changes. */
export function podOwners(kind: Kind): (pod: Stored<Pod>, caches: Caches) => ObjectKey[] {
  return (pod, caches) => caches.of(kind).byIndex(POD_OWNER_INDEX, podOwnerOfLabels(pod)).map(keyOfObject);
}

/** The pods that the Deployment of an object has made. */
export function podsOf(runner: Parent & { readonly childName: string }, caches: Caches): Stored<Pod>[] {
  const isOfDeployment = (pod: Stored<Pod>) => controllerOf(pod)?.name.startsWith(`${runner.childName}-`);
  return caches.of(Pod).byIndex(POD_OWNER_INDEX, podOwner(runner)).filter(isOfDeployment);
}

/** Ticks of a status that say nothing new cause no run; the counts come with the Deployment. */
function troubleChanged({ type, object, previous }: Change<Pod>): boolean {
  // With a pod its image goes out of use, and its key.
  if (type === "deleted" || imagesOf(previous) !== imagesOf(object)) return true;
  if (isOver(previous) !== isOver(object)) return true;
  return (previous && digestOf(previous)) !== digestOf(object);
}

/** Whether all containers of a pod have ended for good. */
function isOver(pod: Stored<Pod> | undefined): boolean {
  return pod?.status?.phase === "Succeeded" || pod?.status?.phase === "Failed";
}

/** What the nodes pulled, which status shows. */
function imagesOf(pod: Stored<Pod> | undefined): string {
  return (pod?.status?.containerStatuses ?? [])
    .map(({ imageID }) => imageID ?? "")
    .join(" ")
    .trim();
}

/** What our controllers report of a pod, but for the time that passes. */
function digestOf(pod: Stored<Pod>): string {
  const trouble = podTrouble(pod, Number.POSITIVE_INFINITY);
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const restarts = [...initContainerStatuses, ...containerStatuses].map(({ restartCount }) => restartCount);
  const message = trouble?.kind === "found" ? trouble.message : "";
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  return [ready?.status, ready?.reason, restarts.join("+"), message].join(" ");
}

/** Whether its kubelet calls the pod ready: its containers run and their probes pass. */
export function isReadyPod({ status }: Stored<Pod>): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === "Ready" && state === "True") ?? false;
}

/** The template that the pod was made of, by the hash that its Deployment gave it. */
export function templateOf({ metadata }: Stored<Pod>): string | undefined {
  return metadata.labels?.["pod-template-hash"];
}

/** Whether its kubelet calls the pod ready, and nothing says that it will not last. */
export function isSteadyPod(pod: Stored<Pod>, now: number): boolean {
  return isReadyPod(pod) && podTrouble(pod, now)?.kind !== "found";
}

function withoutWhatNobodyReads({ apiVersion, kind, metadata, status = {} }: Stored<Pod>): Stored<Pod> {
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
