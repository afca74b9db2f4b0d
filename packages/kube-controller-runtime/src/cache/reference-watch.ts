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

/** Lets holders of referenced objects read them anew when a watch reports a change. */
export class ReferenceWatch<T extends KubeObject> {
  readonly #options: ReferenceWatchOptions<T>;
  readonly #stop = new AbortController();
  #listed = new Map<ObjectKey, number>();

  constructor(options: ReferenceWatchOptions<T>) {
    this.#options = options;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Watches until it is stopped. */
  async run(): Promise<void> {
    const { kind, selection, environment } = this.#options;
    const { client, clock, random, timing, log, onWatchRetry } = environment;
    const events = watcher<T>({
      client,
      kind,
      selection,
      clock,
      random,
      signal: this.#stop.signal,
      ...(timing ? { timing } : {}),
      onRetry: (error, waitMs, expected) => {
        onWatchRetry?.(kind.plural, error.reason);
        log[expected ? "debug" : "warn"]("watch of referenced objects interrupted, will resume", {
          kind: kind.plural,
          namespace: selection.namespace,
          reason: error.reason,
          waitMs,
        });
      },
    });
    for await (const event of events) this.#handle(event);
  }

  #handle(event: WatcherEvent<T>): void {
    switch (event.type) {
      case "init":
        this.#listed = new Map();
        break;
      case "initApply": {
        const key = keyOfObject(event.object);
        if (this.#options.find(key)) this.#listed.set(key, Number(event.object.metadata.resourceVersion));
        break;
      }
      case "initDelete":
        this.#listed.delete(keyOfObject(event.object));
        break;
      case "initDone":
        for (const [key, reference] of this.#options.all()) {
          this.#listedAs(reference, this.#listed.get(key));
        }
        this.#listed = new Map();
        break;
      case "apply":
      case "delete": {
        const reference = this.#options.find(keyOfObject(event.object));
        const version = Number(event.object.metadata.resourceVersion);
        if (reference) this.#reported(reference, { version, exists: event.type === "apply" });
        break;
      }
      case "progress":
        break;
    }
  }

  /**
   * Nobody acted yet on what was never fetched, so a list notifies holders only when their content differs from it. It
   * has to be the same, not as new: a server that was restored from a backup lists older versions.
   */
  #listedAs(reference: Reference, version: number | undefined): void {
    const { known } = reference;
    if (known && known.version !== version) this.#changed(reference);
    else reference.reports++;
  }

  #reported(reference: Reference, news: News): void {
    if (reference.known && isCurrent(reference.known.version, news)) reference.reports++;
    else this.#changed(reference);
  }

  #changed(reference: Reference): void {
    reference.reports++;
    delete reference.known;
    notifyHolders(reference);
  }
}

export function notifyHolders({ holders }: Reference): void {
  for (const holder of holders) holder.notify();
}

/** That an object exists in a version, or that it no longer does since that version. */
interface News {
  readonly version: number;
  readonly exists: boolean;
}

function isCurrent(known: number | undefined, { version, exists }: News): boolean {
  return known === undefined ? !exists : known >= version;
}
