import type { ProvisionerKey } from "../../coder/model.ts";
import type { CoderObserver } from "../../coder/observer.ts";

/** As many coderds, and as many keys of each, as are remembered: what they say may be made up to fill the memory. */
const MAX_CODERDS = 10_000;
const MAX_KEYS = 1_000;

/**
 * Dates that only coderd knows, as the controllers' own questions brought them up: metrics ask nothing
 * themselves. All in seconds since the epoch. What a coderd says is kept apart from what others say.
 */
export class CoderdDates implements CoderObserver {
  readonly #keyCreation = new Map<string, Map<string, number>>();

  /** Keys that others made in coderd are among them: a number each, which costs less than to distinguish them. */
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

  /** The number of dates that are remembered. */
  get size(): number {
    return [...this.#keyCreation.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Of this coderd nobody will ask again. */
  forget(url: string): void {
    this.#keyCreation.delete(url);
  }
}

/** Puts an entry last, and takes the first out when there are more than `most`. */
function remember<Value>(map: Map<string, Value>, most: number, [key, value]: [string, Value]): void {
  map.delete(key);
  map.set(key, value);
  const [first] = map.keys();
  if (map.size > most && first !== undefined) map.delete(first);
}
