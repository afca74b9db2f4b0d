import { isDeepStrictEqual } from "node:util";
import {
  Deployment,
  find,
  isAlreadyExists,
  Pod,
  type ReplicaSet,
  ReplicaSet as ReplicaSets,
  type Stored,
} from "kube-controller-runtime";
import { type Labels, MANAGED_BY_LABEL, selectorOf } from "../../../operator/names.ts";
import { listAll } from "../../cluster.ts";
import { switchService, untilEndpointsReady } from "./switch-service.ts";
import { type ReleaseTarget, waitFor } from "./target.ts";

/** Keeps a ReplicaSet, which stores the pod template, until another one has its pods. */
const FINALIZER = "coder.com/release-to-helm";
const TEMPLATE_HASH = "pod-template-hash";

/**
 * Gives the operator's pods the labels of the chart and a ReplicaSet that the chart's Deployment adopts, so
 * that Helm replaces them by a rolling update. No pod is stopped, and the Service always has endpoints. The
 * next run continues an interrupted one.
 */
export async function movePods(target: ReleaseTarget): Promise<void> {
  const sets = await orphanPods(target);
  await labelPods(target, target.operatorLabels, target.transitionLabels);
  await switchService(target, target.transitionLabels);
  await labelPods(target, target.operatorLabels, chartLabels(target));
  // Otherwise a new ReplicaSet would not find the pods yet, and would create others.
  await untilEndpointsReady(target, target.helmLabels);
  for (const set of sets) await createAdoptable(target, set);
  await switchService(target, target.helmLabels);
  await forgetSets(target);
}

/** Removes the operator's pods after the Service has stopped using them. */
export async function dropPods(target: ReleaseTarget): Promise<void> {
  await deleteDeployment(target, "Background");
  await forgetSets(target);
}

/** The operator's ReplicaSets, after Kubernetes has orphaned their pods. */
async function orphanPods(target: ReleaseTarget): Promise<Stored<ReplicaSet>[]> {
  const { client, ref, operatorLabels } = target;
  await deleteDeployment(target, "Orphan");
  const sets = await setsOf(target);
  for (const { metadata, spec } of sets) {
    const { name, finalizers = [], deletionTimestamp } = metadata;
    if (deletionTimestamp) continue;
    const kept = spec?.replicas ? { metadata: { finalizers: [...finalizers, FINALIZER] } } : undefined;
    const set = { namespace: ref.namespace, name };
    if (kept) await client.mergePatch(ReplicaSets, set, kept);
    await client.delete(ReplicaSets, set, { propagation: "Orphan" });
  }
  await waitFor(target, { what: "Kubernetes did not release the pods of the Deployment" }, async () => {
    const pods = await listAll(client, Pod, {
      namespace: ref.namespace,
      labelSelector: selectorOf(operatorLabels),
    });
    return pods.some(({ metadata }) => metadata.ownerReferences?.length) ? undefined : true;
  });
  return (await setsOf(target)).filter(({ spec }) => spec?.replicas);
}

/** Deletes the Deployment if the operator owns it, and waits until it is gone. */
async function deleteDeployment(target: ReleaseTarget, propagation: "Orphan" | "Background"): Promise<void> {
  const { client, ref, operatorLabels } = target;
  await waitFor(target, { what: `Deployment "${ref.name}" was not deleted` }, async () => {
    const present = await find(client, Deployment, ref);
    if (!present || !isDeepStrictEqual(present.spec?.selector.matchLabels, operatorLabels)) return true;
    const { uid, deletionTimestamp } = present.metadata;
    if (!deletionTimestamp) await client.delete(Deployment, ref, { uid, propagation });
    return undefined;
  });
}

function setsOf({ client, ref, operatorLabels }: ReleaseTarget): Promise<Stored<ReplicaSet>[]> {
  return listAll(client, ReplicaSets, {
    namespace: ref.namespace,
    labelSelector: selectorOf(operatorLabels),
  });
}

/** Replaces the operator's labels by those of the chart. */
function chartLabels({ operatorLabels, helmLabels }: ReleaseTarget): Record<string, string | null> {
  const gone = Object.keys(operatorLabels).map((label) => [label, null]);
  return { ...Object.fromEntries(gone), ...helmLabels, [MANAGED_BY_LABEL]: "Helm" };
}

async function labelPods(
  { client, ref: { namespace } }: ReleaseTarget,
  selected: Labels,
  labels: Readonly<Record<string, string | null>>,
): Promise<void> {
  const pods = await listAll(client, Pod, { namespace, labelSelector: selectorOf(selected) });
  for (const { metadata } of pods)
    await client.mergePatch(Pod, { namespace, name: metadata.name }, { metadata: { labels } });
}

/** A ReplicaSet with the labels of the chart for the pods of one of the operator's. */
async function createAdoptable(target: ReleaseTarget, { metadata, spec }: Stored<ReplicaSet>): Promise<void> {
  const { client, ref, helmLabels, transitionLabels } = target;
  const template = spec?.template;
  const hash = { [TEMPLATE_HASH]: template?.metadata?.labels?.[TEMPLATE_HASH] ?? "" };
  const merged = { ...template?.metadata?.labels, ...transitionLabels, ...chartLabels(target) };
  const labels = Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  const name = `${metadata.name}-released`;
  try {
    await client.create(ReplicaSets, {
      metadata: { namespace: ref.namespace, name, labels },
      spec: {
        replicas: spec?.replicas ?? 1,
        selector: { matchLabels: { ...helmLabels, ...hash } },
        template: { ...template, metadata: { ...template?.metadata, labels } },
      },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Removes the finalizer of the ReplicaSets that were kept for their templates. */
async function forgetSets(target: ReleaseTarget): Promise<void> {
  const { client, ref } = target;
  for (const { metadata } of await setsOf(target)) {
    const { name, finalizers = [] } = metadata;
    if (!finalizers.includes(FINALIZER)) continue;
    const others = finalizers.filter((finalizer) => finalizer !== FINALIZER);
    await client.mergePatch(
      ReplicaSets,
      { namespace: ref.namespace, name },
      { metadata: { finalizers: others } },
    );
  }
}
