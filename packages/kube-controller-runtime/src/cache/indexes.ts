import type { KubeObject, ObjectKey, Stored } from "../object.ts";

/** For each index, a function that returns the values under which an object is found. */
export type IndexFunctions<T extends KubeObject> = Readonly<Record<string, (object: Stored<T>) => string[]>>;

/** An error of a user's function, and the object that caused it. */
export interface StoreFault {
  readonly what: string;
  readonly key: ObjectKey;
  readonly error: unknown;
}

/**
 * Inverted indexes over a store: value → keys. Updated with the previous and the new state of each object. An
 * object for which an index function throws is not in that index.
 */
export class Indexes<T extends KubeObject> {
  readonly #functions: IndexFunctions<T>;
  readonly #onFault: (fault: StoreFault) => void;
  readonly #entries = new Map<string, Map<string, Set<ObjectKey>>>();

  constructor(functions: IndexFunctions<T>, onFault: (fault: StoreFault) => void) {
    this.#functions = functions;
    this.#onFault = onFault;
    for (const name of Object.keys(functions)) this.#entries.set(name, new Map());
  }

  keys(index: string, value: string): Iterable<ObjectKey> {
    const entries = this.#entries.get(index);
    if (!entries) throw new TypeError(`there is no index "${index}"`);
    return entries.get(value) ?? [];
  }

  update(key: ObjectKey, before: Stored<T> | undefined, after: Stored<T> | undefined): void {
    for (const [name, entries] of this.#entries) {
      // The error was reported when the object was added.
      for (const value of this.#valuesOf(name, before, () => {})) remove(entries, value, key);
      const report = (error: unknown) => this.#onFault({ what: `index "${name}"`, key, error });
      for (const value of this.#valuesOf(name, after, report)) add(entries, value, key);
    }
  }

  #valuesOf(name: string, object: Stored<T> | undefined, onError: (error: unknown) => void): string[] {
    try {
      return (object && this.#functions[name]?.(object)) ?? [];
    } catch (error) {
      onError(error);
      return [];
    }
  }
}

function add(entries: Map<string, Set<ObjectKey>>, value: string, key: ObjectKey): void {
  entries.set(value, (entries.get(value) ?? new Set()).add(key));
}

function remove(entries: Map<string, Set<ObjectKey>>, value: string, key: ObjectKey): void {
  const keys = entries.get(value);
  keys?.delete(key);
  if (keys?.size === 0) entries.delete(value);
}
