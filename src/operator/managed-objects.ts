import type { KubeObject, Stored } from "kube-controller-runtime";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "./names.ts";

/** Limit for the annotations of a child and for the data of a Secret in the cache. */
const MAX_BYTES = 16 * 1024;

type Texts = Readonly<Record<string, string>>;

/**
 * Drops long annotations and long values from a child before it is cached. The operator only uses short ones,
 * and anyone who can write Secrets can add its label to large ones.
 */
export function dropLongValues<T extends KubeObject>(object: Stored<T>): Stored<T> {
  const { metadata, data } = object as Stored<T> & { data?: Texts };
  const annotations = metadata.annotations && shortest(metadata.annotations);
  return {
    ...object,
    metadata: annotations ? { ...metadata, annotations } : metadata,
    ...(data ? { data: shortest(data) } : {}),
  };
}

/** The shortest entries that fit the limit. Usually all of them. */
function shortest(texts: Texts): Texts {
  const entries = Object.entries(texts).map(([key, text]) => ({ key, text, size: key.length + text.length }));
  if (entries.reduce((sum, { size }) => sum + size, 0) <= MAX_BYTES) return texts;
  entries.sort((left, right) => left.size - right.size);
  let room = MAX_BYTES;
  const kept = entries.filter(({ size }) => {
    room -= size;
    return room >= 0;
  });
  return Object.fromEntries(kept.map(({ key, text }) => [key, text]));
}

/**
 * Watch only children of the operator, so that memory usage depends on its objects and not on the cluster.
 */
export const managedByUs = {
  labelSelector: `${MANAGED_BY_LABEL}=${MANAGER_NAME}`,
  transform: dropLongValues,
};
