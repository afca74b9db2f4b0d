import type { Selection } from "../client/client.ts";
import { type Kind, type KubeObject, keyOfObject, type ObjectKey } from "../object.ts";
import { type WatcherEvent, watcher } from "../watch/watcher.ts";
import type { CacheEnvironment } from "./cache.ts";

/** An object that refers to other objects, and its controller. */
export interface Holder {
  readonly refs: Set<ObjectKey>;
  readonly notify: () => void;
}

/** The state of one referenced object. */
export interface Reference {
  readonly holders: Set<Holder>;
  /**
   * The version that holders may have used, or undefined if there was no object. Absent if they must read it
   * again.
   */
  known?: { readonly version: number | undefined };
  /** Number of watch events for the object: a response that was overtaken by an event is discarded. */
  reports: number;
}

export interface ReferenceWatchOptions<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly selection: Selection;
  readonly environment: CacheEnvironment;
  /** The referenced objects that this watch covers. */
  readonly all: () => Iterable<[ObjectKey, Reference]>;
  readonly find: (key: ObjectKey) => Reference | undefined;
}

/**
 * Notifies holders of referenced objects when a watch reports a change. The returned function ends the watch.
 */
export function watchReferences<T extends KubeObject>(options: ReferenceWatchOptions<T>): () => void {
  const { kind, selection, environment } = options;
  const stop = new AbortController();
  const events = watcher<T>({
    ...environment,
    kind,
    selection,
    signal: stop.signal,
    onRetry: (error, waitMs, expected) => {
      environment.onWatchRetry?.(kind.plural, error.reason);
      environment.log[expected ? "debug" : "warn"]("watch of referenced objects interrupted, resuming", {
        kind: kind.plural,
        namespace: selection.namespace,
        reason: error.reason,
        waitMs,
      });
    },
  });
  void follow(events, options);
  return () => stop.abort();
}

async function follow<T extends KubeObject>(
  events: AsyncIterable<WatcherEvent<T>>,
  { all, find }: ReferenceWatchOptions<T>,
): Promise<void> {
  let listed = new Map<ObjectKey, number>();
  for await (const event of events) {
    if (event.type === "init") listed = new Map();
    else if (event.type === "initDone") {
      // An object that was never fetched was never used. Otherwise the version must be equal, not just newer:
      // a server that was restored from a backup lists older ones.
      for (const [key, reference] of all())
        report(reference, reference.known !== undefined && reference.known.version !== listed.get(key));
      listed = new Map();
    } else if (event.type !== "progress") {
      const key = keyOfObject(event.object);
      const reference = find(key);
      const version = Number(event.object.metadata.resourceVersion);
      if (event.type === "initDelete") listed.delete(key);
      else if (reference && event.type === "initApply") listed.set(key, version);
      else if (reference) report(reference, !isKnown(reference, version, event.type === "apply"));
    }
  }
}

/** Holders must read the object again if the change is new to them. */
function report(reference: Reference, isNews: boolean): void {
  reference.reports++;
  if (!isNews) return;
  delete reference.known;
  notifyHolders(reference);
}

export function notifyHolders({ holders }: Reference): void {
  for (const holder of holders) holder.notify();
}

/** Whether holders have used this version of an object, or know that it was deleted. */
function isKnown({ known }: Reference, version: number, exists: boolean): boolean {
  if (!known) return false;
  return known.version === undefined ? !exists : known.version >= version;
}
