import type { Selection } from "../client/client.ts";
import { find } from "../client/find.ts";
import { type Kind, type KubeObject, keyOf, type ObjectKey, type ObjectRef, type Stored } from "../object.ts";
import type { CacheEnvironment } from "./cache.ts";
import { Contents } from "./contents.ts";
import { type Holder, notifyHolders, type Reference, watchReferences } from "./reference-watch.ts";

/**
 * The number of referenced objects that are watched individually, so that no other objects are transferred.
 */
const SINGLE_WATCHES = 32;

/**
 * The number of further namespaces that are watched completely, because connections cost memory too. Beyond
 * that, one watch covers the whole cluster.
 */
const NAMESPACE_WATCHES = 32;

/**
 * Maximum size of the cached referenced objects. A tenant may create many large Secrets: beyond the limit,
 * these cost requests instead of memory.
 */
const KEPT_BYTES = 32 * 1024 * 1024;

/** Names that the API server accepts; it responds to any other with 400. */
const POSSIBLE_NAME = /^(?!\.{1,2}$)[^/%]+$/;

/**
 * Objects that other objects refer to by name, such as Secrets. Watches transfer metadata only; only
 * referenced objects are fetched and cached, up to a limit in bytes. Objects without a reference cost no
 * memory. All controllers of a process share one instance per kind: see `Caches.referencesTo`.
 */
export class References<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly #environment: CacheEnvironment;
  readonly #references = new Map<ObjectKey, Reference>();
  readonly #contents: Contents<T>;
  /** Reads in progress, shared by concurrent callers. */
  readonly #reads = new Map<Reference, Promise<Stored<T> | undefined>>();
  /** The functions that end the watches. */
  readonly #watches = new Map<Scope, () => void>();
  #stopped = false;

  constructor(kind: Kind<T>, environment: CacheEnvironment, keptBytes = KEPT_BYTES) {
    this.kind = kind;
    this.#environment = environment;
    this.#contents = new Contents(keptBytes);
  }

  /** Approximate memory of the cached objects. */
  get keptBytes(): number {
    return this.#contents.bytes;
  }

  /**
   * For one controller: calls `onChange` with the key of every holder of an object that was created, changed
   * or deleted.
   */
  heldBy(onChange: (holder: ObjectKey) => void): HeldReferences<T> {
    const holders = new Map<ObjectKey, Holder>();
    return {
      get: (ref) => this.get(ref),
      set: (key, refs) => {
        const holder = holders.get(key) ?? { refs: new Set(), notify: () => onChange(key) };
        this.#hold(holder, refs);
        if (holder.refs.size > 0) holders.set(key, holder);
        else holders.delete(key);
      },
    };
  }

  /**
   * The referenced object, or `undefined` if it does not exist. Makes a request only if its current version
   * is unknown or no longer cached. Throws `ApiError` if the request fails.
   */
  async get(ref: ObjectRef): Promise<Stored<T> | undefined> {
    if (!POSSIBLE_NAME.test(ref.name)) return undefined;
    const reference = this.#references.get(keyOf(ref));
    if (!reference) return find(this.#environment.client, this.kind, ref);
    const kept = reference.known && this.#contents.get(keyOf(ref));
    if (kept || (reference.known && reference.known.version === undefined)) return kept;
    const read =
      this.#reads.get(reference) ?? this.#read(ref, reference).finally(() => this.#reads.delete(reference));
    this.#reads.set(reference, read);
    return read;
  }

  /** Reads until the response is not overtaken by an event. */
  async #read(ref: ObjectRef, reference: Reference): Promise<Stored<T> | undefined> {
    let object: Stored<T> | undefined;
    let reports: number;
    do {
      reports = reference.reports;
      object = await find(this.#environment.client, this.kind, ref);
    } while (reference.reports !== reports);
    this.#keep(ref, reference, object);
    return object;
  }

  /** A version other than the one that holders used is a change that the watch would report too late. */
  #keep(ref: ObjectRef, reference: Reference, object: Stored<T> | undefined): void {
    const key = keyOf(ref);
    const version = object && Number(object.metadata.resourceVersion);
    const isChanged = reference.known !== undefined && reference.known.version !== version;
    reference.known = { version };
    if (object && this.#references.get(key) === reference) this.#contents.set(key, object);
    else this.#contents.delete(key);
    if (isChanged) notifyHolders(reference);
  }

  stop(): void {
    this.#stopped = true;
    for (const scope of this.#watches.keys()) this.#endWatch(scope);
  }

  #hold(holder: Holder, refs: readonly ObjectRef[]): void {
    const after = new Set(refs.map(keyOf));
    for (const ref of refs) if (!holder.refs.has(keyOf(ref))) this.#add(holder, ref);
    for (const key of holder.refs) if (!after.has(key)) this.#remove(holder, key);
  }

  #add(holder: Holder, ref: ObjectRef): void {
    const key = keyOf(ref);
    const reference = this.#references.get(key) ?? { holders: new Set(), reports: 0 };
    reference.holders.add(holder);
    holder.refs.add(key);
    this.#references.set(key, reference);
    this.#cover(ref);
  }

  #remove(holder: Holder, key: ObjectKey): void {
    const reference = this.#references.get(key);
    holder.refs.delete(key);
    reference?.holders.delete(holder);
    if (reference?.holders.size === 0) {
      this.#references.delete(key);
      this.#contents.delete(key);
    }
    for (const scope of this.#watches.keys()) {
      if (isWithin(scope, key) && this.#within(scope).length === 0) this.#endWatch(scope);
    }
  }

  /** Makes sure that a watch covers the object. */
  #cover(ref: ObjectRef): void {
    const [single, namespace] = [keyOf(ref), namespaceScope(ref)];
    if (this.#stopped || [single, namespace, EVERYTHING].some((scope) => this.#watches.has(scope))) return;
    const singles = [...this.#watches.keys()].filter((scope) => !isWhole(scope)).length;
    const namespaces = this.#watches.size - singles;
    if (singles < SINGLE_WATCHES)
      this.#watch(single, { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` });
    else if (namespaces < NAMESPACE_WATCHES || this.#environment.namespaces.length > 0)
      this.#takeOver(namespace, ref);
    else this.#takeOver(EVERYTHING, {});
  }

  /** Replaces narrower watches by a wider one. It lists first, so it finds changes since the others ended. */
  #takeOver(scope: Scope, { namespace }: Pick<Selection, "namespace">): void {
    for (const part of this.#watches.keys()) if (part.startsWith(scope)) this.#endWatch(part);
    this.#watch(scope, { namespace });
  }

  #watch(scope: Scope, { namespace, fieldSelector }: Selection): void {
    const stop = watchReferences({
      kind: this.kind,
      selection: { namespace, fieldSelector, metadataOnly: true },
      environment: this.#environment,
      find: (key) => (isWithin(scope, key) ? this.#references.get(key) : undefined),
      all: () => this.#within(scope),
    });
    this.#watches.set(scope, stop);
  }

  #endWatch(scope: Scope): void {
    this.#watches.get(scope)?.();
    this.#watches.delete(scope);
  }

  #within(scope: Scope): [ObjectKey, Reference][] {
    return [...this.#references].filter(([key]) => isWithin(scope, key));
  }
}

/** The references of one controller's objects. */
export interface HeldReferences<T extends KubeObject> extends Pick<References<T>, "get"> {
  /** Declares all references of `holder`; objects that no holder refers to any more are dropped. */
  set(holder: ObjectKey, refs: readonly ObjectRef[]): void;
}

/** The scope of a watch: the key of one object, `namespace/`, or everything. */
type Scope = string;

const EVERYTHING: Scope = "";

function namespaceScope({ namespace }: ObjectRef): Scope {
  return namespace ? `${namespace}/` : EVERYTHING;
}

function isWhole(scope: Scope): boolean {
  return scope === EVERYTHING || scope.endsWith("/");
}

function isWithin(scope: Scope, key: ObjectKey): boolean {
  return isWhole(scope) ? key.startsWith(scope) : key === scope;
}
