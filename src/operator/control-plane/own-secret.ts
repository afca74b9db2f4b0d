import { find, keyOf, type Owner, type RunContext, Secret, type Stored } from "kube-controller-runtime";

/** Memory of a Secret that the operator creates, so that it looks up the name once. */
export interface SecretMemory {
  /** The Secret differs from the cache, so the next reconcile reads it from the API server. */
  isUnseen?: true;
  /** Name of the Secret that does not exist yet. */
  freeName?: string;
}

/**
 * Finds the Secret of this name. If the cache does not contain it, reads it once from the API server: the name may be
 * taken, or the Secret may lack the label of the watch.
 */
export async function findOwnSecret(
  ref: { readonly namespace: string; readonly name: string },
  { caches, children, client }: RunContext,
  { owner, memory }: { readonly owner: Owner; readonly memory: SecretMemory },
): Promise<Stored<Secret> | undefined> {
  const cached = caches.of(Secret).get(keyOf(ref));
  const isOurs = cached !== undefined && children.owns(cached, owner);
  const isUnseen = memory.isUnseen ?? false;
  delete memory.isUnseen;
  if (isOurs && !isUnseen) {
    delete memory.freeName;
    return cached;
  }
  if (memory.freeName === ref.name && !isUnseen) return undefined;
  const present = await find(client, Secret, ref);
  if (present) delete memory.freeName;
  else memory.freeName = ref.name;
  return present;
}

/** Makes the next reconcile read the Secret from the API server. */
export function searchAgain(memory: SecretMemory): void {
  memory.isUnseen = true;
  delete memory.freeName;
}
