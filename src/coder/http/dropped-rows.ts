import { Nesting } from "./nesting.ts";

const [LIST, SEPARATOR] = [0x5b, 0x2c];
const isSpace = (byte: number | undefined) =>
  byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;

/** Selects rows of a list to drop. */
export interface RowFilter {
  /** A text that every such row contains. Other rows are not parsed. */
  readonly containing: string;
  readonly isDropped: (row: unknown) => boolean;
}

/**
 * Drops rows of a JSON list while it arrives, so that they need no memory. Anything else is passed through,
 * including data after the list.
 */
export class DroppedRows {
  readonly #filter: RowFilter;
  #state: "before" | "list" | "passing" = "before";
  readonly #nesting = new Nesting();
  /** Chunks of the incomplete row. */
  #row: Uint8Array[] = [];
  #hasKept = false;

  constructor(filter: RowFilter) {
    this.#filter = filter;
  }

  /** Size of the incomplete row in bytes. */
  get held(): number {
    return this.#row.reduce((size, { length }) => size + length, 0);
  }

  /** Returns the parts to keep of the rows that the next chunk completes. */
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

  /** Returns the rest of an incomplete list. */
  end(): Uint8Array[] {
    return this.#state === "list" ? this.#endRow() : [];
  }

  /** The index after the opening bracket of the list. */
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
      // The whole response is not JSON either, which its reader reports.
      return false;
    }
  }
}
