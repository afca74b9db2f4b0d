import { Nesting } from "./nesting.ts";

const QUOTE = 0x22;

/**
 * Leaves the contents of all lists of one name out of JSON as it arrives, so that they cost neither memory nor
 * parsing, whatever they hold. The text that opens such a list can't occur within a string of JSON, where its quotes
 * would be escaped.
 */
export class EmptiedLists {
  readonly #opening: Uint8Array;
  #matched = 0;
  /** Within a list to empty. */
  #inside: Nesting | undefined;

  constructor(name: string) {
    this.#opening = Buffer.from(`${JSON.stringify(name)}:[`);
  }

  /** The parts of the next chunk that are outside of such lists. */
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

  /** The index after the opening of a list, or the end of the chunk. */
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

  /** The index of the bracket that closes the list, or the end of the chunk. */
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
