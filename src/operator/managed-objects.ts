import type { KubeObject, Stored } from "kube-controller-runtime";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "./names.ts";

/** So much is kept of the annotations of a child, and of the contents of a Secret. */
const MAX_BYTES = 16 * 1024;

type Texts = Readonly<Record<string, string>>;

/**
 * What is kept of a child: everything but long annotations and long values. What the operator writes and reads itself
 * is short, and whoever may write Secrets may put its label on many that are not.
 */
export function slim<T extends KubeObject>(object: Stored<T>): Stored<T> {
  const { metadata, data } = object as Stored<T> & { data?: Texts };
  const annotations = metadata.annotations && shortest(metadata.annotations);
  return {
    ...object,
    metadata: annotations ? { ...metadata, annotations } : metadata,
    ...(data ? { data: shortest(data) } : {}),
  };
}

/** The shortest entries, as many as fit; all of them in most cases. */
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

/** What to watch of the kinds of children: ours only, so memory follows our objects and not the cluster's. */
export const managedByUs = { labelSelector: `${MANAGED_BY_LABEL}=${MANAGER_NAME}`, transform: slim };
