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
import type { Released } from "./released.ts";

/** What the chart makes under the names that the operator uses, but for the Deployment. */
const SHARED: readonly Kind[] = [Service, ServiceAccount, Ingress, HTTPRoute, ListenerSet];

/** The field managers of what this program and the operator wrote. */
const WRITERS = [MANAGER_NAME, "kubectl-coder"];

/**
 * Makes what operator and chart both have look as Helm made it, so that a release takes it over without flags: its marks,
 * no owner, and every field that the operator set is Helm's to change. Resolves with what was handed over.
 */
export async function handOver(released: Released): Promise<string[]> {
  const handed: string[] = [];
  for (const kind of SHARED) {
    for (const child of await childrenOf(released, kind)) {
      await handOverChild(released, kind, child);
      handed.push(`${kind.kind} "${child.metadata.name}"`);
    }
  }
  return handed;
}

async function childrenOf({ client, object, ref }: Released, kind: Kind): Promise<Stored<KubeObject>[]> {
  const { namespace } = ref;
  const { labelSelector } = managedByUs;
  const children = await listAll(client, kind, { namespace, labelSelector }).catch((error) => {
    // Clusters without the Gateway API have none of its kinds.
    if (isNotFound(error)) return [];
    throw error;
  });
  return children.filter((child) => controllerOf(child)?.uid === object.metadata.uid);
}

async function handOverChild(
  { client, object, ref, release, helms }: Released,
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
  const labels = { ...helms, [MANAGED_BY_LABEL]: "Helm" };
  const marked = await client.mergePatch(kind, target, {
    metadata: { ownerReferences, annotations, labels },
  });
  const managedFields = giveFields(marked.metadata.managedFields, { from: WRITERS, to: "helm" });
  const { resourceVersion } = marked.metadata;
  await client.mergePatch(kind, target, { metadata: { resourceVersion, managedFields } });
}
