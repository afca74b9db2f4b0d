const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Tracks the nesting depth of JSON byte by byte. Needs constant memory. */
export class Nesting {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Number of open lists and objects after the last byte. */
  get depth(): number {
    return this.#depth;
  }

  get isInString(): boolean {
    return this.#isInString;
  }

  next(byte: number | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === QUOTE) this.#isInString = !this.#isInString;
    else if (this.#isInString) this.#isEscaped = byte === BACKSLASH;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) this.#depth++;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) this.#depth--;
  }
}
