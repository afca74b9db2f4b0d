import type { Client } from "../../../src/runtime/client/client.ts";
import {
  Deployment,
  Ingress,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
} from "../../../src/runtime/kinds.ts";
import type { Kind, KubeObject, ObjectRef, Stored } from "../../../src/runtime/object.ts";

export const childKinds: readonly Kind[] = [ServiceAccount, Role, RoleBinding, Deployment, Service, Ingress];

/** Differs from object to object though nothing is different: who it is, when it was made, where it was put. */
const accidental: ReadonlySet<string> = new Set([
  "clusterIP",
  "clusterIPs",
  "creationTimestamp",
  "generation",
  "lastTransitionTime",
  "managedFields",
  "observedGeneration",
  "resourceVersion",
  "uid",
]);

/** What of an object is decided by the operator, with the names of its control plane replaced. */
export function essence(object: Stored<KubeObject>, controlPlane: Required<ObjectRef>): unknown {
  const text = JSON.stringify(object, (key, value) => (accidental.has(key) ? undefined : value));
  const { uid } = object.metadata.ownerReferences?.[0] ?? object.metadata;
  const names: [string | undefined, string][] = [
    [uid, "<uid>"],
    [controlPlane.namespace, "<namespace>"],
    [controlPlane.name, "<name>"],
  ];
  const neutral = names.reduce(
    (result, [name, place]) => (name ? result.replaceAll(name, place) : result),
    text,
  );
  return JSON.parse(neutral.replaceAll(/-[0-9a-f]{8}\b/g, "-<hash>"));
}

/** The essence of every child of a control plane, in a fixed order. */
export async function essenceOfChildren(
  client: Client,
  controlPlane: Required<ObjectRef>,
): Promise<unknown[]> {
  const labelSelector = `app.kubernetes.io/instance=${controlPlane.name}`;
  const { namespace } = controlPlane;
  const lists = await Promise.all(childKinds.map((kind) => client.list(kind, { namespace, labelSelector })));
  return lists.flatMap(({ items }, index) =>
    items.map((item) => ({ kind: childKinds[index]?.kind, ...(essence(item, controlPlane) as object) })),
  );
}
