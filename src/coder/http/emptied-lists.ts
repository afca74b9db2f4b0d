const [QUOTE, END] = [0x22, 0x5d];

/**
 * Leaves the contents of all lists of one name out of JSON as it arrives, so that they cost neither memory nor
 * parsing. The text that opens such a list can't occur within a string of JSON, where its quotes would be escaped.
 * Only for lists of strings without brackets.
 */
export class EmptiedLists {
  readonly #opening: Uint8Array;
  #matched = 0;
  #isInside = false;

  constructor(name: string) {
    this.#opening = Buffer.from(`${JSON.stringify(name)}:[`);
  }

  /** The parts of the next chunk that are outside of such lists. */
  filter(chunk: Uint8Array): Uint8Array[] {
    const kept: Uint8Array[] = [];
    for (let index = 0; index < chunk.length; ) {
      const end = this.#isInside ? skipped(chunk, index) : this.#untilOpened(chunk, index);
      if (!this.#isInside) kept.push(chunk.subarray(index, end));
      this.#isInside = this.#isInside ? end === chunk.length : this.#matched === this.#opening.length;
      if (this.#isInside) this.#matched = 0;
      index = end;
    }
    return kept;
  }

  /** The index after the opening of a list, or the end of the chunk; `#matched` says which. */
  #untilOpened(chunk: Uint8Array, start: number): number {
    for (let index = start; index < chunk.length; index++) {
      const byte = chunk[index];
      if (byte === this.#opening[this.#matched]) this.#matched++;
      else this.#matched = byte === QUOTE ? 1 : 0;
      if (this.#matched === this.#opening.length) return index + 1;
    }
    return chunk.length;
  }
}

/** The index of the bracket that closes the list, or the end of the chunk. */
function skipped(chunk: Uint8Array, start: number): number {
  const end = chunk.indexOf(END, start);
  return end === -1 ? chunk.length : end;
}
