import type { ProvisionerKey } from "../../coder/model.ts";
import type { CoderObserver } from "../../coder/observer.ts";

/** Limits of remembered coderds and keys, because an untrusted coderd could fill the memory. */
const MAX_CODERDS = 10_000;
const MAX_KEYS = 1_000;

/**
 * Dates that only coderd knows, collected from requests of the controllers; metrics send no requests. In
 * seconds since the epoch. Dates of different coderds are kept separately.
 */
export class CoderdDates implements CoderObserver {
  readonly #keyCreation = new Map<string, Map<string, number>>();

  /** Includes keys that the operator did not create; a number for each costs less than filtering them. */
  provisionerKeysListed(url: string, keys: readonly ProvisionerKey[]): void {
    const known = this.#keyCreation.get(url) ?? new Map<string, number>();
    remember(this.#keyCreation, MAX_CODERDS, [url, known]);
    for (const { id, createdAt = "" } of keys) {
      const created = Date.parse(createdAt) / 1_000;
      if (!Number.isNaN(created)) remember(known, MAX_KEYS, [id, created]);
    }
  }

  keyCreation(url: string, id: string): number | undefined {
    return this.#keyCreation.get(url)?.get(id);
  }

  /** Number of remembered dates. */
  get size(): number {
    return [...this.#keyCreation.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** The coderd is no longer in use. */
  forget(url: string): void {
    this.#keyCreation.delete(url);
  }
}

/** Adds an entry at the end, and removes the first one if the limit is exceeded. */
function remember<Value>(map: Map<string, Value>, most: number, [key, value]: [string, Value]): void {
  map.delete(key);
  map.set(key, value);
  const [first] = map.keys();
  if (map.size > most && first !== undefined) map.delete(first);
}
