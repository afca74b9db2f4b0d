import {
  type Caches,
  type Change,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  Namespace,
  type ObjectKey,
  type Stored,
} from "kube-controller-runtime";

/*
 * When a namespace is deleted, its pods are deleted first and everything else afterwards. When the operator's
 * objects are deleted, coderd and the Secrets are already gone. Therefore, the operator cleans up in coderd
 * and its database as soon as the namespace starts to terminate.
 */

/** Namespaces are cluster-scoped, so an operator with `--namespaces` may not be permitted to read them. */
export const namespaceWatch = { when: startsTerminating, metadataOnly: true, mayBeForbidden: true } as const;

function startsTerminating({ object, previous }: Change<Namespace>): boolean {
  return object.metadata.deletionTimestamp !== undefined && !previous?.metadata.deletionTimestamp;
}

/** For `watches`: returns the objects in a namespace. */
export function objectsInNamespace<T extends KubeObject>(kind: Kind<T>) {
  return (namespace: Stored<Namespace>, caches: Caches): ObjectKey[] =>
    [...caches.of(kind).all()]
      .filter(({ metadata }) => metadata.namespace === namespace.metadata.name)
      .map(keyOfObject);
}

/**
 * Returns the time since which an object's namespace is terminating, or `undefined` if it is not or if this
 * is unknown.
 */
export function namespaceTerminatingSince(
  { metadata }: Stored<KubeObject>,
  caches: Caches,
): Stored<KubeObject>["metadata"]["deletionTimestamp"] {
  const namespaces = caches.of(Namespace);
  if (!namespaces.available) return undefined;
  return namespaces.get(keyOf({ namespace: "", name: metadata.namespace ?? "" }))?.metadata.deletionTimestamp;
}
