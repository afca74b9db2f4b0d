import type { Client } from "../client/client.ts";
import {
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectRef,
  refOf,
  resourceName,
  type Stored,
} from "../object.ts";
import { Cache, type CacheEnvironment, type CacheOptions } from "./cache.ts";
import type { Sent } from "./own-write.ts";
import { References } from "./references.ts";

/**
 * The caches of a process: one per kind, or one per selection of a kind created by `select`. Controllers that
 * watch the same objects share one watch.
 */
export class Caches {
  readonly #environment: CacheEnvironment;
  readonly #caches = new Map<string, Cache<KubeObject>>();
  readonly #references = new Map<string, References<KubeObject>>();

  constructor(environment: CacheEnvironment) {
    this.#environment = environment;
  }

  /** Adds a cache for a kind. A second definition must not have options: the first one applies. */
  define<T extends KubeObject>(kind: Kind<T>, options?: CacheOptions<T>): Cache<T> {
    const present = this.#caches.get(cacheName(kind)) as Cache<T> | undefined;
    if (present) {
      if (options) throw new TypeError(`the cache of ${resourceName(kind)} is already defined`);
      return present;
    }
    const cache = new Cache(kind, this.#environment, options);
    this.#caches.set(cacheName(kind), cache as unknown as Cache<KubeObject>);
    return cache;
  }

  of<T extends KubeObject>(kind: Kind<T>): Cache<T> {
    const cache = this.#caches.get(cacheName(kind));
    if (!cache) throw new TypeError(`no controller watches ${cacheName(kind)}`);
    return cache as unknown as Cache<T>;
  }

  all(): Iterable<Cache<KubeObject>> {
    return this.#caches.values();
  }

  /**
   * The objects of a kind that other objects refer to by name, with one set of watches for all controllers.
   */
  referencesTo<T extends KubeObject>(kind: Kind<T>): References<T> {
    const name = resourceName(kind);
    const references = this.#references.get(name) ?? new References<KubeObject>(kind, this.#environment);
    this.#references.set(name, references);
    return references as unknown as References<T>;
  }

  /** Ends the watches of referenced objects. */
  stopReferences(): void {
    for (const references of this.#references.values()) references.stop();
  }

  /**
   * A client that shows the results of its writes in the caches before it resolves. Reads go to the server.
   */
  writeThrough(client: Client): Client {
    const remember = <T extends KubeObject>(
      kind: Kind<T>,
      { ref, sent }: { readonly ref: () => ObjectRef; readonly sent: Sent },
      write: () => Promise<Stored<T>>,
    ): Promise<Stored<T>> =>
      this.#whileWriting(kind, ref, async (caches) => {
        const written = await write();
        for (const cache of caches) {
          if (isGone(written)) cache.forget(keyOfObject(written), written.metadata.uid);
          else cache.remember(written, sent);
        }
        return written;
      });
    const fields = (ref: ObjectRef, body: object) => ({
      ref: () => ref,
      sent: { by: "fields", fields: body } as const,
    });
    return {
      get: (kind, ref) => client.get(kind, ref),
      list: (kind, options) => client.list(kind, options),
      watch: (kind, options) => client.watch(kind, options),
      create: (kind, object) =>
        remember(kind, { ref: () => refOf(object), sent: { by: "create" } }, () =>
          client.create(kind, object),
        ),
      apply: (kind, object) =>
        remember(kind, fields(refOf(object), object), () => client.apply(kind, object)),
      mergePatch: (kind, ref, patch) =>
        remember(kind, fields(ref, patch), () => client.mergePatch(kind, ref, patch)),
      jsonPatch: (kind, ref, operations) =>
        remember(kind, { ref: () => ref, sent: { by: "other" } }, () =>
          client.jsonPatch(kind, ref, operations),
        ),
      patchStatus: (kind, ref, patch) =>
        remember(kind, fields(ref, patch), () => client.patchStatus(kind, ref, patch)),
      delete: (kind, ref, options) =>
        this.#whileWriting(
          kind,
          () => ref,
          async (caches) => {
            const before = caches.map((cache) => cache.get(keyOf(ref))?.metadata.uid);
            const remains = await client.delete(kind, ref, options);
            for (const [index, cache] of caches.entries()) {
              const uid = before[index];
              if (remains) cache.remember(remains, deletion(remains));
              else if (uid !== undefined) cache.forget(keyOf(ref), uid);
            }
            return remains;
          },
        ),
    };
  }

  /** Until the work ends, the caches hold back changes of the object, which may be the work's own. */
  async #whileWriting<T extends KubeObject, R>(
    kind: Kind<T>,
    ref: () => ObjectRef,
    work: (caches: readonly Cache<T>[]) => Promise<R>,
  ): Promise<R> {
    const caches = this.#allOf(kind);
    // An object without a name, such as a review, has no key.
    const key = caches.length > 0 ? keyOf(ref()) : "";
    for (const cache of caches) cache.beginWrite(key);
    try {
      return await work(caches);
    } finally {
      for (const cache of caches) cache.endWrite(key);
    }
  }

  /** All caches that may contain an object of the kind. */
  #allOf<T extends KubeObject>(kind: Kind<T>): Cache<T>[] {
    const name = resourceName(kind);
    const caches = [...this.#caches.values()].filter((cache) => resourceName(cache.kind) === name);
    return caches as unknown as Cache<T>[];
  }
}

/** Cached names: every read of a cache starts with one. */
const cacheNames = new WeakMap<Kind, string>();

/** Identifies a cache among those of its kind. */
export function cacheName(kind: Kind): string {
  const known = cacheNames.get(kind);
  if (known !== undefined) return known;
  const selectors = Object.values(kind.selection ?? {}).filter(Boolean);
  const name = [resourceName(kind), ...selectors].join(" with ");
  cacheNames.set(kind, name);
  return name;
}

function deletion({ metadata }: Stored<KubeObject>): Sent {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = metadata;
  const fields = { metadata: { deletionTimestamp, deletionGracePeriodSeconds, finalizers } };
  return { by: "fields", fields };
}

/** Removing the last finalizer of a deleted object deletes it, but the response contains the object. */
function isGone({ metadata }: Stored<KubeObject>): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
}
