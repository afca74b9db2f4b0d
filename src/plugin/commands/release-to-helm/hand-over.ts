import {
  controllerOf,
  giveFields,
  Ingress,
  isNotFound,
  type Kind,
  type KubeObject,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { managedByUs } from "../../../operator/managed-objects.ts";
import { MANAGED_BY_LABEL, MANAGER_NAME, ownershipMarks } from "../../../operator/names.ts";
import { HTTPRoute, ListenerSet } from "../../../operator/workload/exposure/gateway.ts";
import { listAll } from "../../cluster.ts";
import type { ReleaseTarget } from "./target.ts";

/** Kinds that the chart and the operator create under the same names, except the Deployment. */
const SHARED: readonly Kind[] = [Service, ServiceAccount, Ingress, HTTPRoute, ListenerSet];

/** Field managers of the operator and of this program. */
const WRITERS = [MANAGER_NAME, "kubectl-coder"];

/**
 * Makes the objects that operator and chart share look as if Helm had created them, so that a release adopts
 * them without flags: Helm's metadata, no owner, and Helm's ownership of all fields that the operator set.
 * Resolves with the objects that were handed over.
 */
export async function handOver(target: ReleaseTarget): Promise<string[]> {
  const handed: string[] = [];
  for (const kind of SHARED) {
    for (const child of await childrenOf(target, kind)) {
      await handOverChild(target, kind, child);
      handed.push(`${kind.kind} "${child.metadata.name}"`);
    }
  }
  return handed;
}

async function childrenOf({ client, object, ref }: ReleaseTarget, kind: Kind): Promise<Stored<KubeObject>[]> {
  const { namespace } = ref;
  const { labelSelector } = managedByUs;
  const children = await listAll(client, kind, { namespace, labelSelector }).catch((error) => {
    // The cluster does not have the Gateway API.
    if (isNotFound(error)) return [];
    throw error;
  });
  return children.filter((child) => controllerOf(child)?.uid === object.metadata.uid);
}

async function handOverChild(
  { client, object, ref, release, helmLabels }: ReleaseTarget,
  kind: Kind,
  { metadata }: Stored<KubeObject>,
): Promise<void> {
  const target = { namespace: ref.namespace, name: metadata.name };
  const ownerReferences = metadata.ownerReferences?.filter(({ uid }) => uid !== object.metadata.uid);
  const annotations = {
    "meta.helm.sh/release-name": release,
    "meta.helm.sh/release-namespace": ref.namespace,
    [ownershipMarks.applied]: null,
    [ownershipMarks.handOver]: null,
  };
  const labels = { ...helmLabels, [MANAGED_BY_LABEL]: "Helm" };
  const handedOver = await client.mergePatch(kind, target, {
    metadata: { ownerReferences, annotations, labels },
  });
  const managedFields = giveFields(handedOver.metadata.managedFields, { from: WRITERS, to: "helm" });
  const { resourceVersion } = handedOver.metadata;
  await client.mergePatch(kind, target, { metadata: { resourceVersion, managedFields } });
}
