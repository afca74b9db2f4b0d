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
import { awaited, type Released } from "./released.ts";
import { seenByLabels, serveBy } from "./serve.ts";

/** Keeps a ReplicaSet, which stores the pod template, until another one has its pods. */
const FINALIZER = "coder.com/release-to-helm";
const TEMPLATE_HASH = "pod-template-hash";

/**
 * Gives the operator's pods the labels of the chart and a ReplicaSet that the chart's Deployment adopts, so
 * that Helm replaces them by a rolling update. No pod is stopped, and the Service always has endpoints. The
 * next run continues an interrupted one.
 */
export async function movePods(released: Released): Promise<void> {
  const sets = await orphanPods(released);
  await labelPods(released, released.ours, released.both);
  await serveBy(released, released.both);
  await labelPods(released, released.ours, chartLabels(released));
  // Otherwise a new ReplicaSet would not find the pods yet, and would create others.
  await seenByLabels(released, released.helms);
  for (const set of sets) await createAdoptable(released, set);
  await serveBy(released, released.helms);
  await forgetSets(released);
}

/** Removes the operator's pods after the Service has stopped using them. */
export async function dropPods(released: Released): Promise<void> {
  await deleteDeployment(released, "Background");
  await forgetSets(released);
}

/** The operator's ReplicaSets, after Kubernetes has orphaned their pods. */
async function orphanPods(released: Released): Promise<Stored<ReplicaSet>[]> {
  const { client, ref, ours } = released;
  await deleteDeployment(released, "Orphan");
  const sets = await setsOf(released);
  for (const { metadata, spec } of sets) {
    const { name, finalizers = [], deletionTimestamp } = metadata;
    if (deletionTimestamp) continue;
    const kept = spec?.replicas ? { metadata: { finalizers: [...finalizers, FINALIZER] } } : undefined;
    const target = { namespace: ref.namespace, name };
    if (kept) await client.mergePatch(ReplicaSets, target, kept);
    await client.delete(ReplicaSets, target, { propagation: "Orphan" });
  }
  await awaited(released, { what: "Kubernetes did not release the pods of the Deployment" }, async () => {
    const pods = await listAll(client, Pod, { namespace: ref.namespace, labelSelector: selectorOf(ours) });
    return pods.some(({ metadata }) => metadata.ownerReferences?.length) ? undefined : true;
  });
  return (await setsOf(released)).filter(({ spec }) => spec?.replicas);
}

/** Deletes the Deployment if the operator owns it, and waits until it is gone. */
async function deleteDeployment(released: Released, propagation: "Orphan" | "Background"): Promise<void> {
  const { client, ref, ours } = released;
  await awaited(released, { what: `Deployment "${ref.name}" was not deleted` }, async () => {
    const present = await find(client, Deployment, ref);
    if (!present || !isDeepStrictEqual(present.spec?.selector.matchLabels, ours)) return true;
    const { uid, deletionTimestamp } = present.metadata;
    if (!deletionTimestamp) await client.delete(Deployment, ref, { uid, propagation });
    return undefined;
  });
}

function setsOf({ client, ref, ours }: Released): Promise<Stored<ReplicaSet>[]> {
  return listAll(client, ReplicaSets, { namespace: ref.namespace, labelSelector: selectorOf(ours) });
}

/** Replaces the operator's labels by those of the chart. */
function chartLabels({ ours, helms }: Released): Record<string, string | null> {
  const gone = Object.keys(ours).map((label) => [label, null]);
  return { ...Object.fromEntries(gone), ...helms, [MANAGED_BY_LABEL]: "Helm" };
}

async function labelPods(
  { client, ref: { namespace } }: Released,
  selected: Labels,
  labels: Readonly<Record<string, string | null>>,
): Promise<void> {
  const pods = await listAll(client, Pod, { namespace, labelSelector: selectorOf(selected) });
  for (const { metadata } of pods)
    await client.mergePatch(Pod, { namespace, name: metadata.name }, { metadata: { labels } });
}

/** A ReplicaSet with the labels of the chart for the pods of one of the operator's. */
async function createAdoptable(released: Released, { metadata, spec }: Stored<ReplicaSet>): Promise<void> {
  const { client, ref, helms, both } = released;
  const template = spec?.template;
  const hash = { [TEMPLATE_HASH]: template?.metadata?.labels?.[TEMPLATE_HASH] ?? "" };
  const merged = { ...template?.metadata?.labels, ...both, ...chartLabels(released) };
  const labels = Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  const name = `${metadata.name}-released`;
  try {
    await client.create(ReplicaSets, {
      metadata: { namespace: ref.namespace, name, labels },
      spec: {
        replicas: spec?.replicas ?? 1,
        selector: { matchLabels: { ...helms, ...hash } },
        template: { ...template, metadata: { ...template?.metadata, labels } },
      },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Removes the finalizer of the ReplicaSets that were kept for their templates. */
async function forgetSets(released: Released): Promise<void> {
  const { client, ref } = released;
  for (const { metadata } of await setsOf(released)) {
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
