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
import { commonLabelNames, commonLabels, identityOf, managedByUs, type Parent } from "../names.ts";
import { defined } from "../normalise.ts";
import { podTrouble } from "./pod-trouble.ts";

/** The index of pods, and of the objects that run them, by the labels that tie the ones to the others. */
export const POD_OWNER_INDEX = "podOwner";

/** A long name is shortened in the label, so the tie is looked up and never read as a name. */
export function podOwner(parent: Parent): string {
  return [parent.identity.namespace, ...Object.values(commonLabels(parent))].join("/");
}

/** The same tie, as a pod has it. */
export function podOwnerOfLabels({ metadata }: Stored<Pod>): string {
  return [metadata.namespace, ...commonLabelNames.map((name) => metadata.labels?.[name])].join("/");
}

/** The tie under which an object's pods are found, for the index of its kind. */
export function podOwnerOf(app: Parent["app"]): (object: Stored<KubeObject>) => string[] {
  return (object) => [podOwner({ app, identity: identityOf(object) })];
}

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
  return (previous && messageOf(previous)) !== messageOf(object);
}

/** What the nodes pulled, which status shows. */
function imagesOf(pod: Stored<Pod> | undefined): string {
  return (pod?.status?.containerStatuses ?? [])
    .map(({ imageID }) => imageID ?? "")
    .join(" ")
    .trim();
}

function messageOf(pod: Stored<Pod>): string | undefined {
  const trouble = podTrouble(pod, Number.POSITIVE_INFINITY);
  return trouble?.kind === "found" ? trouble.message : undefined;
}

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

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

/** Without counts and times, which change while nothing else does. */
function containerState(status: ContainerStatus): ContainerStatus {
  const { name, image, imageID, ready, state, lastState } = status;
  return defined({ name, image, imageID, ready, restartCount: 0, state, lastState });
}
