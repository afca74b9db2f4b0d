import type { Selection } from "../client/client.ts";
import { type Kind, type KubeObject, keyOfObject, type ObjectKey, type Stored } from "../object.ts";
import { type WatcherEvent, watcher } from "../watch/watcher.ts";
import type { CacheEnvironment } from "./cache.ts";

/** What is known of one referenced object. */
export interface Reference<T extends KubeObject> {
  readonly holders: Set<ObjectKey>;
  /** The object as last fetched; `undefined` when it did not exist. Absent while it must be fetched anew. */
  content?: { readonly object: Stored<T> | undefined };
  /** How often a watch told of it: an answer that was overtaken by such news is not used. */
  tellings: number;
}

export interface ReferenceWatchOptions<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly selection: Selection;
  readonly environment: CacheEnvironment;
  readonly onChange: (holder: ObjectKey) => void;
  /** The referenced objects that this watch tells of. */
  readonly all: () => Iterable<[ObjectKey, Reference<T>]>;
  readonly find: (key: ObjectKey) => Reference<T> | undefined;
}

/** Drops the content of referenced objects that a watch says has changed, and tells their holders. */
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
      onRetry: (error, waitMs) => {
        onWatchRetry?.(kind.plural, error.reason);
        log.warn("watch of referenced objects interrupted, will resume", {
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
          this.#listedAs(reference, this.#listed.get(key), Number(event.resourceVersion));
        }
        this.#listed = new Map();
        break;
      case "apply":
      case "delete": {
        const reference = this.#options.find(keyOfObject(event.object));
        const version = Number(event.object.metadata.resourceVersion);
        if (reference) this.#told(reference, { version, exists: event.type === "apply" });
        break;
      }
      case "progress":
        break;
    }
  }

  /** Nobody acted yet on what was never fetched, so a list tells holders only what their content is not. */
  #listedAs(reference: Reference<T>, version: number | undefined, listVersion: number): void {
    if (reference.content)
      this.#told(reference, { version: version ?? listVersion, exists: version !== undefined });
    else reference.tellings++;
  }

  #told(reference: Reference<T>, news: News): void {
    reference.tellings++;
    if (reference.content && isCurrent(reference.content.object, news)) return;
    delete reference.content;
    for (const holder of reference.holders) this.#options.onChange(holder);
  }
}

/** That an object exists in a version, or that it no longer does since that version. */
interface News {
  readonly version: number;
  readonly exists: boolean;
}

function isCurrent(object: Stored<KubeObject> | undefined, { version, exists }: News): boolean {
  return object ? Number(object.metadata.resourceVersion) >= version : !exists;
}
