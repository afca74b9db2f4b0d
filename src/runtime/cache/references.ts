import { isNotFound } from "../client/error.ts";
import {
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectKey,
  type ObjectRef,
  refOfKey,
  type Stored,
} from "../object.ts";
import { type WatcherEvent, watcher } from "../watch/watcher.ts";
import type { CacheEnvironment } from "./cache.ts";

/** What is known of one referenced object. */
interface Entry<T extends KubeObject> {
  readonly ref: ObjectRef;
  readonly holders: Set<ObjectKey>;
  /** The object as last fetched; `undefined` when it did not exist. Absent while it must be fetched anew. */
  content?: { readonly object: Stored<T> | undefined };
  /** How often the watch told of it: an answer that was overtaken by such news is not used. */
  tellings: number;
}

/**
 * Objects that other objects refer to by name, such as Secrets. Only the namespaces that hold a referenced
 * object are watched, by metadata alone; only referenced objects are fetched and kept. What nobody refers
 * to costs no memory, however much of it the cluster has.
 */
export class References<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly #environment: CacheEnvironment;
  readonly #onChange: (holder: ObjectKey) => void;
  readonly #keysByHolder = new Map<ObjectKey, Set<ObjectKey>>();
  readonly #namespaces = new Map<string, ReferencedNamespace<T>>();
  #stopped = false;

  /** `onChange` hears the key of every holder of an object that was made, changed or deleted. */
  constructor(kind: Kind<T>, environment: CacheEnvironment, onChange: (holder: ObjectKey) => void) {
    this.kind = kind;
    this.#environment = environment;
    this.#onChange = onChange;
  }

  /** Declares all that `holder` refers to; what it no longer names and nobody else does is dropped. */
  set(holder: ObjectKey, refs: readonly ObjectRef[]): void {
    const before = this.#keysByHolder.get(holder) ?? new Set();
    const after = new Set(refs.map(keyOf));
    for (const ref of refs) if (!before.has(keyOf(ref))) this.#namespaceOf(ref).add(holder, ref);
    for (const key of before) if (!after.has(key)) this.#remove(holder, key);
    if (after.size > 0) this.#keysByHolder.set(holder, after);
    else this.#keysByHolder.delete(holder);
  }

  /**
   * The referenced object, or `undefined` when there is none. A request is made only when its present
   * version is not known. Throws `ApiError` when that fails.
   */
  async get(ref: ObjectRef): Promise<Stored<T> | undefined> {
    const entry = this.#namespaces.get(ref.namespace ?? "")?.entries.get(keyOf(ref));
    if (entry?.content) return entry.content.object;
    if (!entry) return this.#fetch(ref);
    let object: Stored<T> | undefined;
    let tellings: number;
    do {
      tellings = entry.tellings;
      object = await this.#fetch(ref);
    } while (entry.tellings !== tellings);
    entry.content = { object };
    return object;
  }

  stop(): void {
    this.#stopped = true;
    for (const namespace of this.#namespaces.values()) namespace.stop();
  }

  async #fetch(ref: ObjectRef): Promise<Stored<T> | undefined> {
    try {
      return await this.#environment.client.get(this.kind, ref);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #namespaceOf(ref: ObjectRef): ReferencedNamespace<T> {
    const name = ref.namespace ?? "";
    let namespace = this.#namespaces.get(name);
    if (!namespace) {
      namespace = new ReferencedNamespace<T>(this.#onChange);
      this.#namespaces.set(name, namespace);
      if (!this.#stopped) void this.#follow(name, namespace);
    }
    return namespace;
  }

  #remove(holder: ObjectKey, key: ObjectKey): void {
    const name = refOfKey(key).namespace ?? "";
    const namespace = this.#namespaces.get(name);
    namespace?.remove(holder, key);
    if (!namespace || namespace.entries.size > 0) return;
    namespace.stop();
    this.#namespaces.delete(name);
  }

  async #follow(name: string, namespace: ReferencedNamespace<T>): Promise<void> {
    const { client, clock, random, timing, log, onWatchRetry } = this.#environment;
    const events = watcher<T>({
      client,
      kind: this.kind,
      selection: { namespace: name || undefined, metadataOnly: true },
      clock,
      random,
      signal: namespace.signal,
      ...(timing ? { timing } : {}),
      onRetry: (error, waitMs) => {
        onWatchRetry?.(this.kind.plural, error.reason);
        log.warn("watch of referenced objects interrupted, will resume", {
          kind: this.kind.plural,
          namespace: name,
          reason: error.reason,
          waitMs,
        });
      },
    });
    for await (const event of events) namespace.handle(event);
  }
}

/** The referenced objects of one namespace and what its watch tells of them. */
class ReferencedNamespace<T extends KubeObject> {
  readonly entries = new Map<ObjectKey, Entry<T>>();
  readonly #onChange: (holder: ObjectKey) => void;
  readonly #abort = new AbortController();
  #listed = new Map<ObjectKey, number>();

  constructor(onChange: (holder: ObjectKey) => void) {
    this.#onChange = onChange;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  stop(): void {
    this.#abort.abort();
  }

  add(holder: ObjectKey, ref: ObjectRef): void {
    const key = keyOf(ref);
    const entry = this.entries.get(key) ?? { ref, holders: new Set(), tellings: 0 };
    entry.holders.add(holder);
    this.entries.set(key, entry);
  }

  remove(holder: ObjectKey, key: ObjectKey): void {
    const entry = this.entries.get(key);
    entry?.holders.delete(holder);
    if (entry?.holders.size === 0) this.entries.delete(key);
  }

  handle(event: WatcherEvent<T>): void {
    switch (event.type) {
      case "init":
        this.#listed = new Map();
        break;
      case "initApply": {
        const key = keyOfObject(event.object);
        if (this.entries.has(key)) this.#listed.set(key, Number(event.object.metadata.resourceVersion));
        break;
      }
      case "initDelete":
        this.#listed.delete(keyOfObject(event.object));
        break;
      case "initDone":
        for (const [key, entry] of this.entries) {
          this.#listedAs(entry, this.#listed.get(key), Number(event.resourceVersion));
        }
        this.#listed = new Map();
        break;
      case "apply":
      case "delete": {
        const entry = this.entries.get(keyOfObject(event.object));
        const version = Number(event.object.metadata.resourceVersion);
        if (entry) this.#told(entry, { version, exists: event.type === "apply" });
        break;
      }
      case "progress":
        break;
    }
  }

  /** Nobody acted yet on what was never fetched, so a list tells holders only what their content is not. */
  #listedAs(entry: Entry<T>, version: number | undefined, listVersion: number): void {
    if (entry.content) this.#told(entry, { version: version ?? listVersion, exists: version !== undefined });
    else entry.tellings++;
  }

  /** Drops content that is older than the news and tells holders. */
  #told(entry: Entry<T>, news: News): void {
    entry.tellings++;
    if (entry.content && isCurrent(entry.content.object, news)) return;
    delete entry.content;
    for (const holder of entry.holders) this.#onChange(holder);
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
