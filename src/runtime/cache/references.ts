import { find } from "../client/find.ts";
import { type Kind, type KubeObject, keyOf, type ObjectKey, type ObjectRef, type Stored } from "../object.ts";
import type { CacheEnvironment } from "./cache.ts";
import { type Reference, ReferenceWatch } from "./reference-watch.ts";

/**
 * So many referenced objects are watched one by one, a connection each. The namespace of one that comes on
 * top is watched as a whole, because connections cost memory too.
 */
const SINGLE_WATCHES = 32;

/**
 * Objects that other objects refer to by name, such as Secrets. Watches carry metadata alone; only
 * referenced objects are fetched and kept. What nobody refers to costs no memory, however much of it the
 * cluster has.
 */
export class References<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly #environment: CacheEnvironment;
  readonly #onChange: (holder: ObjectKey) => void;
  readonly #keysByHolder = new Map<ObjectKey, Set<ObjectKey>>();
  readonly #references = new Map<ObjectKey, Reference<T>>();
  readonly #watches = new Map<Scope, ReferenceWatch<T>>();
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
    for (const ref of refs) if (!before.has(keyOf(ref))) this.#add(holder, ref);
    for (const key of before) if (!after.has(key)) this.#remove(holder, key);
    if (after.size > 0) this.#keysByHolder.set(holder, after);
    else this.#keysByHolder.delete(holder);
  }

  /**
   * The referenced object, or `undefined` when there is none. A request is made only when its present
   * version is not known. Throws `ApiError` when that fails.
   */
  async get(ref: ObjectRef): Promise<Stored<T> | undefined> {
    const reference = this.#references.get(keyOf(ref));
    if (reference?.content) return reference.content.object;
    const { client } = this.#environment;
    if (!reference) return find(client, this.kind, ref);
    let object: Stored<T> | undefined;
    let tellings: number;
    do {
      tellings = reference.tellings;
      object = await find(client, this.kind, ref);
    } while (reference.tellings !== tellings);
    reference.content = { object };
    return object;
  }

  stop(): void {
    this.#stopped = true;
    for (const scope of this.#watches.keys()) this.#endWatch(scope);
  }

  #add(holder: ObjectKey, ref: ObjectRef): void {
    const key = keyOf(ref);
    const reference = this.#references.get(key) ?? { holders: new Set(), tellings: 0 };
    reference.holders.add(holder);
    this.#references.set(key, reference);
    this.#cover(ref);
  }

  #remove(holder: ObjectKey, key: ObjectKey): void {
    const reference = this.#references.get(key);
    reference?.holders.delete(holder);
    if (reference?.holders.size === 0) this.#references.delete(key);
    for (const scope of this.#watches.keys()) {
      if (isWithin(scope, key) && this.#within(scope).length === 0) this.#endWatch(scope);
    }
  }

  /** Sees to it that some watch tells of the object. */
  #cover(ref: ObjectRef): void {
    const [single, whole] = [keyOf(ref), namespaceScope(ref)];
    if (this.#stopped || this.#watches.has(single) || this.#watches.has(whole)) return;
    const singles = [...this.#watches.keys()].filter((scope) => !isWhole(scope));
    if (singles.length < SINGLE_WATCHES) {
      this.#watch(single, { ...ref, fieldSelector: `metadata.name=${ref.name}` });
      return;
    }
    // It lists the whole namespace anew, so it finds what happened since the others ended.
    for (const scope of singles) if (isWithin(whole, scope)) this.#endWatch(scope);
    this.#watch(whole, ref);
  }

  #watch(
    scope: Scope,
    { namespace, fieldSelector }: { namespace?: string | undefined; fieldSelector?: string },
  ): void {
    const watch = new ReferenceWatch<T>({
      kind: this.kind,
      selection: { namespace, fieldSelector, metadataOnly: true },
      environment: this.#environment,
      onChange: this.#onChange,
      find: (key) => (isWithin(scope, key) ? this.#references.get(key) : undefined),
      all: () => this.#within(scope),
    });
    this.#watches.set(scope, watch);
    void watch.run();
  }

  #endWatch(scope: Scope): void {
    this.#watches.get(scope)?.stop();
    this.#watches.delete(scope);
  }

  #within(scope: Scope): [ObjectKey, Reference<T>][] {
    return [...this.#references].filter(([key]) => isWithin(scope, key));
  }
}

/** What a watch covers: the key of one object, or `namespace/`; empty for all of a kind without namespaces. */
type Scope = string;

function namespaceScope({ namespace }: ObjectRef): Scope {
  return namespace ? `${namespace}/` : "";
}

function isWhole(scope: Scope): boolean {
  return scope === "" || scope.endsWith("/");
}

function isWithin(scope: Scope, key: ObjectKey): boolean {
  return isWhole(scope) ? key.startsWith(scope) : key === scope;
}
