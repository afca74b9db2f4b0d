import type { Selection } from "../client/client.ts";
import { find } from "../client/find.ts";
import { type Kind, type KubeObject, keyOf, type ObjectKey, type ObjectRef, type Stored } from "../object.ts";
import type { CacheEnvironment } from "./cache.ts";
import { Contents } from "./contents.ts";
import { type Holder, notifyHolders, type Reference, watchReferences } from "./reference-watch.ts";

/** So many referenced objects are watched one by one: nothing else of their kind crosses the wire. */
const SINGLE_WATCHES = 32;

/**
 * So many namespaces of those that come on top are watched as a whole, because connections cost memory too.
 * After that one watch serves the whole cluster.
 */
const NAMESPACE_WATCHES = 32;

/**
 * So much of all referenced objects is kept. Whoever may write Secrets may make many of a megabyte; past this they
 * cost requests, not memory.
 */
const KEPT_BYTES = 32 * 1024 * 1024;

/** What the API server takes for the name of an object; it answers anything else with 400, whenever it is asked. */
const POSSIBLE_NAME = /^(?!\.{1,2}$)[^/%]+$/;

/**
 * Objects that other objects refer to by name, such as Secrets. Watches carry metadata alone; only
 * referenced objects are fetched and kept, up to a limit in bytes. What nobody refers to costs no memory, however
 * much of it the cluster has. All controllers of a process share one of these for each kind: see `Caches.referencesTo`.
 */
export class References<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly #environment: CacheEnvironment;
  readonly #references = new Map<ObjectKey, Reference>();
  readonly #contents: Contents<T>;
  /** Those under way, which whoever asks meanwhile shares. */
  readonly #reads = new Map<Reference, Promise<Stored<T> | undefined>>();
  /** What ends them. */
  readonly #watches = new Map<Scope, () => void>();
  #stopped = false;

  constructor(kind: Kind<T>, environment: CacheEnvironment, keptBytes = KEPT_BYTES) {
    this.kind = kind;
    this.#environment = environment;
    this.#contents = new Contents(keptBytes);
  }

  /** What the contents that are kept take in memory, roughly. */
  get keptBytes(): number {
    return this.#contents.bytes;
  }

  /** For one controller: `onChange` is called with the key of every holder of an object that was made, changed or deleted. */
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
   * The referenced object, or `undefined` when there is none. A request is made only when its present
   * version is not known or no longer kept. Throws `ApiError` when that fails.
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

  /** Reads until no event has overtaken the answer. */
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

  /** Another version than holders acted on is a change, which the watch would report too late to be noticed. */
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

  /** Sees to it that some watch reports on the object. */
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

  /** Watches more in place of less. It lists anew, so it finds what happened since the others ended. */
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

/** What one controller's objects refer to. */
export interface HeldReferences<T extends KubeObject> extends Pick<References<T>, "get"> {
  /** Declares all that `holder` refers to; what it no longer names and nobody else does is dropped. */
  set(holder: ObjectKey, refs: readonly ObjectRef[]): void;
}

/** What a watch covers: the key of one object, `namespace/`, or everything. */
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
