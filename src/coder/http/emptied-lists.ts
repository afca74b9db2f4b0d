import { Nesting } from "./nesting.ts";

const QUOTE = 0x22;

/**
 * Removes the contents of all lists with a given name from JSON while it arrives, so that they need neither
 * memory nor parsing. The text that opens such a list cannot occur within a JSON string, where its quotes
 * would be escaped.
 */
export class EmptiedLists {
  readonly #opening: Uint8Array;
  #matched = 0;
  /** Set within a list to empty. */
  #inside: Nesting | undefined;

  constructor(name: string) {
    this.#opening = Buffer.from(`${JSON.stringify(name)}:[`);
  }

  /** Returns the parts of the next chunk that are outside of such lists. */
  filter(chunk: Uint8Array): Uint8Array[] {
    const kept: Uint8Array[] = [];
    for (let index = 0; index < chunk.length; ) {
      if (this.#inside) index = this.#untilClosed(this.#inside, chunk, index);
      else {
        const end = this.#untilOpened(chunk, index);
        kept.push(chunk.subarray(index, end));
        index = end;
      }
    }
    return kept;
  }

  /** The index after the opening bracket of the list, or the end of the chunk. */
  #untilOpened(chunk: Uint8Array, start: number): number {
    for (let index = start; index < chunk.length; index++) {
      const byte = chunk[index];
      if (byte === this.#opening[this.#matched]) this.#matched++;
      else this.#matched = byte === QUOTE ? 1 : 0;
      if (this.#matched < this.#opening.length) continue;
      this.#matched = 0;
      this.#inside = new Nesting();
      return index + 1;
    }
    return chunk.length;
  }

  /** The index of the closing bracket of the list, or the end of the chunk. */
  #untilClosed(nesting: Nesting, chunk: Uint8Array, start: number): number {
    for (let index = start; index < chunk.length; index++) {
      nesting.next(chunk[index]);
      if (nesting.depth >= 0) continue;
      this.#inside = undefined;
      return index;
    }
    return chunk.length;
  }
}
