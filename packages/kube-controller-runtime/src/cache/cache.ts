import type { Client } from "../client/client.ts";
import { type ApiError, isForbidden, isNotFound } from "../client/error.ts";
import type { Clock, Random } from "../clock.ts";
import type { Logger } from "../log.ts";
import {
  type Kind,
  type KindSelection,
  type KubeObject,
  keyOfObject,
  type ObjectKey,
  refOfKey,
  resourceName,
  type Stored,
} from "../object.ts";
import { type WatchTiming, watcher } from "../watch/watcher.ts";
import type { IndexFunctions, StoreFault } from "./indexes.ts";
import type { Sent } from "./own-write.ts";
import { labelSelector } from "./selector.ts";
import { type Change, Store, type StoreReader } from "./store.ts";

/** Which objects a cache holds, which parts of them, and their indexes. */
export interface CacheOptions<T extends KubeObject> extends KindSelection {
  readonly metadataOnly?: boolean;
  readonly indexes?: IndexFunctions<T>;
  /** Drops unused parts of an object before it is stored, after the environment's transform. */
  readonly transform?: (object: Stored<T>) => Stored<T>;
  /**
   * The API server may not serve this kind (yet). Until it does, the cache counts as synced and retries
   * rarely, unless `markInUse` is called.
   */
  readonly optional?: boolean;
  /**
   * The process may lack permission to read this kind. Then the cache counts as synced but not as available,
   * and retries rarely. A process that is limited to namespaces never requests cluster-scoped kinds. Without
   * this option, a missing permission keeps the process from becoming ready.
   */
  readonly mayBeForbidden?: boolean;
}

/** Settings that all caches of a process share. */
export interface CacheEnvironment {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The namespaces to watch; empty means the whole cluster. */
  readonly namespaces: readonly string[];
  readonly timing?: Partial<WatchTiming>;
  /** Transforms every object before it is stored; removes `managedFields` by default. */
  readonly transform?: <T extends KubeObject>(object: Stored<T>) => Stored<T>;
  readonly onWatchRetry?: (kind: string, reason: string) => void;
}

/**
 * Maximum retry interval for a missing kind that is in use, so that it is available within seconds after its
 * installation.
 */
const IN_USE_RETRY_CAP_MS = 4_000;

/** Retry interval for a missing kind that is not in use. */
const UNUSED_RETRY_MS = 10 * 60_000;

/**
 * The objects of one kind, kept up to date by one watch per namespace, or by one for the whole cluster. Reads
 * cost no request. Handlers that are added before `run` receive every change once; a handler that throws does
 * not affect the others.
 */
export class Cache<T extends KubeObject> implements StoreReader<T> {
  readonly kind: Kind<T>;
  readonly #environment: CacheEnvironment;
  readonly #options: CacheOptions<T>;
  readonly #stores = new Map<string, Store<T>>();
  readonly #handlers: ((change: Change<T>) => void)[] = [];
  readonly #unsynced = new Set<string>();
  readonly #missing = new Set<string>();
  readonly #selects: (object: Stored<T>) => boolean;
  readonly #whenSynced = Promise.withResolvers<void>();
  /** Aborts the current watch of a namespace so that a new one starts. */
  readonly #restarts = new Map<string, AbortController>();
  /** Called when the list of a namespace is complete. */
  readonly #listed = new Map<string, () => void>();
  #inUse = Promise.withResolvers<void>();

  constructor(kind: Kind<T>, environment: CacheEnvironment, options: CacheOptions<T> = {}) {
    this.kind = kind;
    this.#environment = environment;
    const common = environment.transform ?? withoutManagedFields;
    const transform = (object: Stored<T>) => options.transform?.(common(object)) ?? common(object);
    this.#options = { ...options, ...kind.selection, transform };
    this.#selects = selectsOf(kind.selection);
    for (const namespace of scopesOf(kind, environment, options)) {
      this.#unsynced.add(namespace);
      const onChange = (change: Change<T>) => this.#emit(change);
      const onFault = (fault: StoreFault) => this.#confine(fault);
      this.#stores.set(namespace, new Store({ ...this.#options, onChange, onFault }));
    }
    if (this.synced) this.#whenSynced.resolve();
  }

  get size(): number {
    return this.#stores.values().reduce((sum, store) => sum + store.size, 0);
  }

  /** Whether the cache holds the state of the cluster at some moment after the start. */
  get synced(): boolean {
    return this.#unsynced.size === 0;
  }

  /** Whether the API server serves this kind and this process may read it, as of the last request. */
  get available(): boolean {
    return this.#stores.size > 0 && this.#missing.size === 0;
  }

  /**
   * Marks this kind as in use, so that a missing one is retried soon. Call it again while the kind is in use.
   */
  markInUse(): void {
    this.#inUse.resolve();
  }

  /** Whether the cache includes the namespace. */
  covers(namespace: string): boolean {
    return this.#storeOf(`${namespace}/`) !== undefined;
  }

  get(key: ObjectKey): Stored<T> | undefined {
    return this.#storeOf(key)?.get(key);
  }

  all(): Iterable<Stored<T>> {
    return this.#stores.values().flatMap((store) => store.all());
  }

  byIndex(index: string, value: string): Stored<T>[] {
    return [...this.#stores.values()].flatMap((store) => store.byIndex(index, value));
  }

  onChange(handler: (change: Change<T>) => void): void {
    this.#handlers.push(handler);
  }

  /** See `Store.beginWrite`. */
  beginWrite(key: ObjectKey): void {
    this.#storeOf(key)?.beginWrite(key);
  }

  endWrite(key: ObjectKey): void {
    this.#storeOf(key)?.endWrite(key);
  }

  /** See `Store.remember`. */
  remember(written: Stored<T>, sent: Sent): void {
    // A write outside the selection belongs to other caches; the watch reports objects that leave the
    // selection.
    if (!this.#selects(written)) return;
    this.#storeOf(keyOfObject(written))?.remember(written, sent);
  }

  forget(key: ObjectKey, uid: string): void {
    this.#storeOf(key)?.forget(key, uid);
  }

  /** Watches until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#stores].map(([namespace, store]) => this.#feed(namespace, store, signal)));
  }

  whenSynced(): Promise<void> {
    return this.#whenSynced.promise;
  }

  /**
   * Lists again on a new connection, and resolves when the cache holds the state of the API server at some
   * moment after the call. A watch that seems open may have been silent for minutes.
   */
  async relist(): Promise<void> {
    const relists = [...this.#restarts].map(([namespace, restart]) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#listed.set(namespace, resolve);
      restart.abort();
      return promise;
    });
    await Promise.all(relists);
  }

  async #feed(namespace: string, store: Store<T>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const restart = new AbortController();
      this.#restarts.set(namespace, restart);
      await this.#follow(namespace, store, AbortSignal.any([signal, restart.signal]));
    }
  }

  async #follow(namespace: string, store: Store<T>, signal: AbortSignal): Promise<void> {
    const { labelSelector, fieldSelector, metadataOnly, optional, mayBeForbidden } = this.#options;
    const events = watcher<T>({
      ...this.#environment,
      kind: this.kind,
      selection: { namespace: namespace || undefined, labelSelector, fieldSelector, metadataOnly },
      signal,
      timing: { ...this.#environment.timing, ...(optional && { retryCapMs: IN_USE_RETRY_CAP_MS }) },
      ...((optional || mayBeForbidden) && {
        isMissing: (error: ApiError) => this.#isMissing(error),
        whileMissing: () => this.#untilInUse(signal),
      }),
      onRetry: (error, waitMs, expected) => this.#retrying(error, { namespace, waitMs, expected }),
    });
    for await (const event of events) {
      if (signal.aborted) return;
      store.handle(event);
      if (event.type !== "initDone") continue;
      this.#missing.delete(namespace);
      this.#markSynced(namespace);
    }
  }

  async #untilInUse(signal: AbortSignal): Promise<void> {
    const { clock } = this.#environment;
    const timer = new AbortController();
    const rarely = clock.sleep(UNUSED_RETRY_MS, AbortSignal.any([signal, timer.signal]));
    await Promise.race([this.#inUse.promise, rarely.catch(() => undefined)]);
    timer.abort();
    this.#inUse = Promise.withResolvers();
  }

  #retrying(
    error: ApiError,
    { namespace, waitMs, expected }: { namespace: string; waitMs: number; expected: boolean },
  ): void {
    const { log, onWatchRetry } = this.#environment;
    const kind = resourceName(this.kind);
    if (this.#isMissing(error)) {
      log.debug("kind is not available in this cluster, or this process may not read it", {
        kind,
        reason: error.reason,
      });
      this.#missing.add(namespace);
      this.#stores.get(namespace)?.clear();
      this.#markSynced(namespace);
      return;
    }
    onWatchRetry?.(kind, error.reason);
    log[expected ? "debug" : "warn"]("watch interrupted, resuming", {
      kind,
      namespace,
      reason: error.reason,
      error: error.message,
      waitMs,
    });
  }

  #isMissing(error: ApiError): boolean {
    const { optional, mayBeForbidden } = this.#options;
    return Boolean((optional && isNotFound(error)) || (mayBeForbidden && isForbidden(error)));
  }

  #markSynced(namespace: string): void {
    this.#unsynced.delete(namespace);
    this.#listed.get(namespace)?.();
    if (this.synced) this.#whenSynced.resolve();
  }

  #storeOf(key: ObjectKey): Store<T> | undefined {
    return this.#stores.get("") ?? this.#stores.get(refOfKey(key).namespace ?? "");
  }

  #emit(change: Change<T>): void {
    for (const handler of this.#handlers) {
      try {
        handler(change);
      } catch (error) {
        this.#confine({ what: "handler", key: keyOfObject(change.object), error });
      }
    }
  }

  /** An object that makes a user's function throw must not end the watch. */
  #confine({ what, key, error }: StoreFault): void {
    const { log } = this.#environment;
    log.error(`a cache's ${what} failed`, { kind: resourceName(this.kind), object: key, error });
  }
}

/**
 * The namespaces to watch; the empty string means the whole cluster. Empty for a cluster-scoped kind that a
 * process with Roles only can't read.
 */
function scopesOf(
  { namespaced }: Kind,
  { namespaces }: CacheEnvironment,
  { mayBeForbidden }: Pick<CacheOptions<never>, "mayBeForbidden">,
): readonly string[] {
  if (namespaces.length === 0) return [""];
  if (namespaced) return namespaces;
  return mayBeForbidden ? [] : [""];
}

/** Only the server can evaluate most field selectors: for these, wait for the watch to report the write. */
function selectsOf(selection: Kind["selection"]): (object: Stored<KubeObject>) => boolean {
  if (!selection) return () => true;
  const matches = selection.labelSelector ? labelSelector(selection.labelSelector) : () => true;
  return ({ metadata }) => !selection.fieldSelector && matches(metadata.labels ?? {});
}

/** `managedFields` is often the largest part of an object, and reconciles do not use it. */
function withoutManagedFields<T extends KubeObject>(object: Stored<T>): Stored<T> {
  if (!object.metadata.managedFields) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata } as Stored<T>;
}
