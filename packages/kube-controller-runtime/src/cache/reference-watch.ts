import type { Selection } from "../client/client.ts";
import { type Kind, type KubeObject, keyOfObject, type ObjectKey } from "../object.ts";
import { type WatcherEvent, watcher } from "../watch/watcher.ts";
import type { CacheEnvironment } from "./cache.ts";

/** An object that refers to others, on behalf of its controller. */
export interface Holder {
  readonly refs: Set<ObjectKey>;
  readonly notify: () => void;
}

/** What is known of one referenced object. */
export interface Reference {
  readonly holders: Set<Holder>;
  /** The version that holders may have acted on, or that there was no object. Absent when they must read anew. */
  known?: { readonly version: number | undefined };
  /** How many watch events reported it: an answer that such an event has overtaken is not used. */
  reports: number;
}

export interface ReferenceWatchOptions<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly selection: Selection;
  readonly environment: CacheEnvironment;
  /** The referenced objects that this watch reports. */
  readonly all: () => Iterable<[ObjectKey, Reference]>;
  readonly find: (key: ObjectKey) => Reference | undefined;
}

/** Lets holders of referenced objects read them anew when a watch reports a change. The returned function ends it. */
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
      environment.log[expected ? "debug" : "warn"]("watch of referenced objects interrupted, will resume", {
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
      // Nobody acted yet on what was never fetched. Else a version has to be the same, not as new: a server that
      // was restored from a backup lists older ones.
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

/** What is news to its holders, they have to read anew. */
function report(reference: Reference, isNews: boolean): void {
  reference.reports++;
  if (!isNews) return;
  delete reference.known;
  notifyHolders(reference);
}

export function notifyHolders({ holders }: Reference): void {
  for (const holder of holders) holder.notify();
}

/** Whether holders know that an object exists in a version, or that it no longer does since that version. */
function isKnown({ known }: Reference, version: number, exists: boolean): boolean {
  if (!known) return false;
  return known.version === undefined ? !exists : known.version >= version;
}
