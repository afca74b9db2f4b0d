import type { KubeObject, ObjectKey, Stored } from "../object.ts";

/** Approximate overhead of an object, a list or a number. */
const NODE_BYTES = 32;

interface Content<T extends KubeObject> {
  readonly object: Stored<T>;
  readonly bytes: number;
}

/**
 * Objects by key, limited to `maxBytes` in total: the least recently used ones are evicted. An object that
 * exceeds the limit by itself is not stored.
 */
export class Contents<T extends KubeObject> {
  readonly #maxBytes: number;
  /** In order of last use. */
  readonly #contents = new Map<ObjectKey, Content<T>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: ObjectKey): Stored<T> | undefined {
    const content = this.#contents.get(key);
    if (!content) return undefined;
    this.#contents.delete(key);
    this.#contents.set(key, content);
    return content.object;
  }

  set(key: ObjectKey, object: Stored<T>): void {
    this.delete(key);
    const bytes = weightOf(object);
    if (bytes > this.#maxBytes) return;
    this.#contents.set(key, { object, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#contents.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(key: ObjectKey): void {
    this.#bytes -= this.#contents.get(key)?.bytes ?? 0;
    this.#contents.delete(key);
  }
}

/** The approximate memory of an object. */
function weightOf(object: object): number {
  let bytes = 0;
  const open: unknown[] = [object];
  while (open.length > 0) {
    const value = open.pop();
    bytes += NODE_BYTES;
    if (typeof value === "string") bytes += value.length;
    else if (typeof value === "object" && value !== null)
      for (const [name, inner] of Object.entries(value)) {
        bytes += name.length;
        open.push(inner);
      }
  }
  return bytes;
}
