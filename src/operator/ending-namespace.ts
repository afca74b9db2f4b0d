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
 * A namespace that is deleted loses its pods first, and only then everything else at once: by the time that our objects are
 * deleted, coderd is gone, and the Secrets go with them. So what has to be cleaned up at coderd or in its database is
 * cleaned up as soon as the namespace begins to end.
 */

/** Namespaces belong to the cluster, so an operator that is kept to some of them may not read them. */
export const namespaceWatch = { when: beginsToEnd, metadataOnly: true, mayBeForbidden: true } as const;

function beginsToEnd({ object, previous }: Change<Namespace>): boolean {
  return object.metadata.deletionTimestamp !== undefined && !previous?.metadata.deletionTimestamp;
}

/** For `watches`: the objects in a namespace. */
export function thoseWithin<T extends KubeObject>(kind: Kind<T>) {
  return (namespace: Stored<Namespace>, caches: Caches): ObjectKey[] =>
    [...caches.of(kind).all()]
      .filter(({ metadata }) => metadata.namespace === namespace.metadata.name)
      .map(keyOfObject);
}

/** Since when an object's namespace is being deleted; `undefined` while it is not, or where nobody can tell. */
export function namespaceEndsSince(
  { metadata }: Stored<KubeObject>,
  caches: Caches,
): Stored<KubeObject>["metadata"]["deletionTimestamp"] {
  const namespaces = caches.of(Namespace);
  if (!namespaces.served) return undefined;
  return namespaces.get(keyOf({ namespace: "", name: metadata.namespace ?? "" }))?.metadata.deletionTimestamp;
}
