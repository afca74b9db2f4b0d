import { Nesting } from "./nesting.ts";

const [LIST, SEPARATOR] = [0x5b, 0x2c];
const isSpace = (byte: number | undefined) =>
  byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;

/** Which rows of a list to leave out. */
export interface RowFilter {
  /** A text that every such row contains; other rows are not parsed to find out. */
  readonly containing: string;
  readonly isDropped: (row: unknown) => boolean;
}

/**
 * Leaves rows out of a JSON list as it arrives, so that they cost no memory. Anything but a list passes as it is, and so
 * does what follows the list.
 */
export class DroppedRows {
  readonly #filter: RowFilter;
  #state: "before" | "list" | "passing" = "before";
  readonly #nesting = new Nesting();
  /** The row that has not arrived as a whole. */
  #row: Uint8Array[] = [];
  #hasKept = false;

  constructor(filter: RowFilter) {
    this.#filter = filter;
  }

  /** Bytes of the row that has not arrived as a whole. */
  get held(): number {
    return this.#row.reduce((size, { length }) => size + length, 0);
  }

  /** What is kept of the rows that have arrived with the next chunk. */
  filter(chunk: Uint8Array): Uint8Array[] {
    const start = this.#state === "before" ? this.#open(chunk) : 0;
    if (this.#state !== "list") return [chunk];
    const kept = [chunk.subarray(0, start)];
    let rowStart = start;
    for (let index = start; index < chunk.length; index++) {
      const byte = chunk[index];
      this.#nesting.next(byte);
      const isClosed = this.#nesting.depth === 0;
      if (!isClosed && !(this.#nesting.depth === 1 && byte === SEPARATOR && !this.#nesting.isInString))
        continue;
      this.#row.push(chunk.subarray(rowStart, index));
      kept.push(...this.#endRow());
      rowStart = index + 1;
      if (!isClosed) continue;
      this.#state = "passing";
      return [...kept, chunk.subarray(index)];
    }
    this.#row.push(chunk.subarray(rowStart));
    return kept;
  }

  /** What was left of a list that did not end. */
  end(): Uint8Array[] {
    return this.#state === "list" ? this.#endRow() : [];
  }

  /** The index after the bracket that opens the list. */
  #open(chunk: Uint8Array): number {
    const first = chunk.findIndex((byte) => !isSpace(byte));
    if (first === -1) return 0;
    this.#state = chunk[first] === LIST ? "list" : "passing";
    this.#nesting.next(chunk[first]);
    return first + 1;
  }

  #endRow(): Uint8Array[] {
    const row = Buffer.concat(this.#row);
    this.#row = [];
    if (row.length === 0 || this.#isDropped(row)) return [];
    const separator = this.#hasKept ? [Buffer.of(SEPARATOR)] : [];
    this.#hasKept = true;
    return [...separator, row];
  }

  #isDropped(row: Buffer): boolean {
    if (!row.includes(this.#filter.containing)) return false;
    try {
      return this.#filter.isDropped(JSON.parse(row.toString("utf8")));
    } catch {
      // The whole answer is no JSON either, which its reader says.
      return false;
    }
  }
}
