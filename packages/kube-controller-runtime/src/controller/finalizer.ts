import type { Client } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/error.ts";
import { findSame } from "../client/find.ts";
import { type Kind, type KubeObject, refOf, type Stored } from "../object.ts";
import { type Action, awaitChange } from "../queue/action.ts";

export interface Finalized<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
  /** Whether this object has anything external to clean up. When it no longer has, the cleanup runs early. */
  readonly wanted: boolean;
  /** Reconciles an object that is not being deleted. The finalizer is added before the call. */
  readonly apply: (object: Stored<T>) => Promise<Action>;
  /**
   * Removes external resources that garbage collection can't delete. The finalizer stays while the cleanup
   * throws, or while it returns an action because it has to wait.
   */
  readonly cleanup: (object: Stored<T>) => Promise<Action | undefined> | Promise<void>;
  /** Reports why the cleanup of an object that is being deleted failed, where users will find it. */
  readonly reportFailure?: (object: Stored<T>, error: unknown) => Promise<void>;
}

const MAX_TRIES = 5;

/**
 * Protects an object by the finalizer `name`: `cleanup` can remove everything that `apply` created externally
 * before the object is deleted. `cleanup` itself decides what is best effort. An early cleanup that fails
 * does not prevent `apply`: its error is thrown afterwards.
 */
export async function finalizer<T extends KubeObject>(
  client: Client,
  name: string,
  finalized: Finalized<T>,
): Promise<Action> {
  const { kind, object, wanted, apply, cleanup, reportFailure } = finalized;
  const present = has(object, name);
  if (object.metadata.deletionTimestamp) {
    if (!present) return awaitChange;
    let wait: Action | undefined;
    const failed = await attempt(async () => {
      wait = (await cleanup(object)) ?? undefined;
    });
    if (failed) return failedWith(failed, await attempt(() => reportFailure?.(object, failed.error)));
    if (wait) return wait;
    await setFinalizer(client, { kind, object, name }, false);
    return awaitChange;
  }
  if (present === wanted) return apply(object);
  const failed = present && (await attempt(() => cleanup(object)));
  if (failed) return failedWith(failed, await attempt(() => apply(object)));
  const current = await setFinalizer(client, { kind, object, name }, wanted);
  return current && !current.metadata.deletionTimestamp ? apply(current) : awaitChange;
}

interface Failed {
  readonly error: unknown;
}

async function attempt(work: () => Promise<unknown> | undefined): Promise<Failed | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { error };
  }
}

function failedWith({ error }: Failed, also: Failed | undefined): never {
  if (!also) throw error;
  throw new AggregateError([error, also.error], "the cleanup and the following reconcile failed");
}

/**
 * Adds or removes one finalizer and preserves the others. Resolves with the stored object, or with
 * `undefined` if it no longer exists. An object that is being deleted gets no new finalizer.
 */
async function setFinalizer<T extends KubeObject>(
  client: Client,
  { kind, object, name }: { kind: Kind<T>; object: Stored<T>; name: string },
  wanted: boolean,
): Promise<Stored<T> | undefined> {
  let current: Stored<T> | undefined = object;
  for (let attempt = 1; current; attempt++) {
    const { resourceVersion, uid, finalizers = [], deletionTimestamp } = current.metadata;
    if (has(current, name) === wanted || (wanted && deletionTimestamp)) return current;
    const next = wanted ? [...finalizers, name] : finalizers.filter((other) => other !== name);
    try {
      return await client.mergePatch(kind, refOf(object), {
        metadata: { resourceVersion, uid, finalizers: next },
      });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isConflict(error) || attempt === MAX_TRIES) throw error;
    }
    current = await findSame(client, kind, object);
  }
  return undefined;
}

function has(object: KubeObject, name: string): boolean {
  return object.metadata?.finalizers?.includes(name) ?? false;
}
