import { NoAnswer } from "./no-answer.ts";

const [QUOTE, BACKSLASH, SEPARATOR] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** No list of coderd's is nested this deeply. */
const MAX_DEPTH = 32;
/** A longer name is not one that is kept. */
const MAX_NAME_BYTES = 256;

/** A list or an object that is open. */
interface Open {
  readonly isObject: boolean;
  /** The fields to keep; absent for a list, and for an object in which all are kept. */
  readonly kept: ReadonlySet<string> | undefined;
  hasFields: boolean;
}

/**
 * Leaves all fields but the named ones out of the objects of JSON as it arrives, so that the others cost neither memory
 * nor parsing. The first set of names is for the outermost objects, the second for objects within those, and so on;
 * deeper objects keep all their fields.
 */
export class KeptFields {
  readonly #levels: readonly ReadonlySet<string>[];
  readonly #open: Open[] = [];
  #state: "value" | "name" | "dropped" = "value";
  #isInString = false;
  #isEscaped = false;
  /** The part of a name, with its first quote, that has arrived. */
  #name = "";
  /** Lists and objects that are open within a field that is left out. */
  #droppedDepth = 0;

  constructor(levels: readonly ReadonlySet<string>[]) {
    this.#levels = levels;
  }

  /** What is kept of the next chunk. */
  filter(chunk: Uint8Array): Uint8Array[] {
    const kept: Uint8Array[] = [];
    for (let index = 0; index < chunk.length; ) {
      const start = index;
      if (this.#state === "name") index = this.#readName(chunk, index, kept);
      else if (this.#state === "dropped") index = this.#untilDropped(chunk, index);
      else {
        index = this.#untilName(chunk, index);
        kept.push(chunk.subarray(start, index));
      }
    }
    return kept;
  }

  /** The index at which a name is due, or the end of the chunk. */
  #untilName(chunk: Uint8Array, start: number): number {
    for (let index = start; index < chunk.length; index++) {
      if (this.#isInString) {
        index = this.#endOfString(chunk, index);
        continue;
      }
      const byte = chunk[index];
      if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_BRACKET) this.#enter({ isObject: false, kept: undefined, hasFields: false });
      else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) this.#open.pop();
      else if (byte === OPEN_BRACE) {
        const level = this.#open.filter(({ isObject }) => isObject).length;
        this.#enter({ isObject: true, kept: this.#levels[level], hasFields: false });
        this.#state = "name";
        return index + 1;
      } else if (byte === SEPARATOR && this.#open.at(-1)?.isObject) {
        this.#state = "name";
        return index;
      }
    }
    return chunk.length;
  }

  #enter(open: Open): void {
    if (this.#open.length >= MAX_DEPTH) throw new NoAnswer("the body is nested too deeply");
    this.#open.push(open);
  }

  /** The index of the quote that ends a string, or the end of the chunk. */
  #endOfString(chunk: Uint8Array, start: number): number {
    for (let index = start; index < chunk.length; index++) {
      const byte = chunk[index];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isInString = false;
        return index;
      }
    }
    return chunk.length;
  }

  /** Reads the next name and decides about its field; returns the index after it. */
  #readName(chunk: Uint8Array, start: number, kept: Uint8Array[]): number {
    let index = start;
    if (this.#name === "") {
      while (index < chunk.length && chunk[index] !== QUOTE && chunk[index] !== CLOSE_BRACE) index++;
      if (index === chunk.length) return index;
      if (chunk[index] === CLOSE_BRACE) {
        this.#state = "value";
        return index;
      }
      this.#isInString = true;
      this.#name = '"';
      index++;
    }
    const end = this.#endOfString(chunk, index);
    if (this.#name.length <= MAX_NAME_BYTES)
      this.#name += Buffer.from(chunk.buffer, chunk.byteOffset + index, end - index).toString("latin1");
    if (!this.#isInString) this.#decide(kept);
    return Math.min(end + 1, chunk.length);
  }

  #decide(kept: Uint8Array[]): void {
    const name = `${this.#name}"`;
    const open = this.#open.at(-1);
    this.#name = "";
    if (open?.kept && !open.kept.has(name.slice(1, -1))) {
      this.#droppedDepth = 0;
      this.#state = "dropped";
      return;
    }
    kept.push(Buffer.from(open?.hasFields ? `,${name}` : name, "latin1"));
    if (open) open.hasFields = true;
    this.#state = "value";
  }

  /** The index after a field that is left out, or the end of the chunk. */
  #untilDropped(chunk: Uint8Array, start: number): number {
    for (let index = start; index < chunk.length; index++) {
      if (this.#isInString) {
        index = this.#endOfString(chunk, index);
        continue;
      }
      const byte = chunk[index];
      if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#droppedDepth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#droppedDepth--;
      const isOver = this.#droppedDepth < 0 || (this.#droppedDepth === 0 && byte === SEPARATOR);
      if (!isOver) continue;
      this.#state = byte === SEPARATOR ? "name" : "value";
      return index;
    }
    return chunk.length;
  }
}
