import type { Client } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/error.ts";
import { type Kind, type KubeObject, refOf, type Stored } from "../object.ts";
import { type Action, awaitChange } from "./action.ts";

export interface Finalized<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
  /** Whether this object has anything outside to clean up. When it no longer has, cleanup runs early. */
  readonly wanted: boolean;
  /** Reconciles a living object. The finalizer is in place before it is called. */
  readonly apply: (object: Stored<T>) => Promise<Action>;
  /** Removes what garbage collection can't reach. While it throws, the object stays. */
  readonly cleanup: (object: Stored<T>) => Promise<void>;
}

const MAX_TRIES = 5;

/**
 * Guards an object by the finalizer `name`: whatever `apply` makes outside, `cleanup` gets the chance to
 * remove before the object is gone. What is best effort is decided inside `cleanup`.
 */
export async function finalizer<T extends KubeObject>(
  client: Client,
  name: string,
  { kind, object, wanted, apply, cleanup }: Finalized<T>,
): Promise<Action> {
  const present = object.metadata.finalizers?.includes(name) ?? false;
  if (object.metadata.deletionTimestamp) {
    if (!present) return awaitChange;
    await cleanup(object);
    await updateFinalizers(client, { kind, object }, (names) => names.filter((other) => other !== name));
    return awaitChange;
  }
  if (present === wanted) return apply(object);
  if (present) await cleanup(object);
  const guarded = await updateFinalizers(client, { kind, object }, (names) =>
    wanted ? [...names, name] : names.filter((other) => other !== name),
  );
  return guarded ? apply(guarded) : awaitChange;
}

/** Resolves with the object as stored, or with `undefined` when it is gone. */
async function updateFinalizers<T extends KubeObject>(
  client: Client,
  { kind, object }: { kind: Kind<T>; object: Stored<T> },
  change: (names: string[]) => string[],
): Promise<Stored<T> | undefined> {
  const ref = refOf(object);
  let current = object;
  for (let attempt = 1; ; attempt++) {
    const { resourceVersion, uid, finalizers = [] } = current.metadata;
    try {
      const metadata = { resourceVersion, uid, finalizers: change(finalizers) };
      return await client.mergePatch(kind, ref, { metadata });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isConflict(error) || attempt === MAX_TRIES) throw error;
    }
    const fresh = await readAnew(client, kind, current);
    if (!fresh) return undefined;
    current = fresh;
  }
}

async function readAnew<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  object: Stored<T>,
): Promise<Stored<T> | undefined> {
  try {
    const fresh = await client.get(kind, refOf(object));
    return fresh.metadata.uid === object.metadata.uid ? fresh : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
