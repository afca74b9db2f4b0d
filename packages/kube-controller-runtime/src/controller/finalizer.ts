import type { Client } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/error.ts";
import { findSame } from "../client/find.ts";
import { type Kind, type KubeObject, refOf, type Stored } from "../object.ts";
import { type Action, awaitChange } from "../queue/action.ts";

export interface Finalized<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
  /** Whether this object has anything outside to clean up. When it no longer has, cleanup runs early. */
  readonly wanted: boolean;
  /** Reconciles a living object. The finalizer is in place before it is called. */
  readonly apply: (object: Stored<T>) => Promise<Action>;
  /**
   * Removes what garbage collection can't reach. While it throws, the finalizer stays; and so it does while cleanup of
   * an object that is being deleted has to wait, and says until when.
   */
  readonly cleanup: (object: Stored<T>) => Promise<Action | undefined> | Promise<void>;
  /** Reports on an object that is being deleted why its cleanup failed, where people look for that. */
  readonly reportFailure?: (object: Stored<T>, error: unknown) => Promise<void>;
}

const MAX_TRIES = 5;

/**
 * Guards an object by the finalizer `name`: for everything that `apply` makes outside, `cleanup` gets the chance to
 * remove before the object is gone. What is best effort is decided inside `cleanup`. An early cleanup that fails
 * keeps nobody from being applied: it is thrown after that.
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
  throw new AggregateError([error, also.error], "the cleanup failed, and so did what came after it");
}

/**
 * Adds or removes one finalizer and leaves the others alone. Resolves with the object as stored, or with
 * `undefined` when it is gone. An object that is being deleted takes no new finalizer.
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
