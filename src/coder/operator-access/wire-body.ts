import { DatabaseProblem } from "./failure.ts";

/** Reads the body of a message. Never reads beyond its end. */
export class Body {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isRead(): boolean {
    return this.#at === this.#bytes.length;
  }

  skip(length: number): this {
    this.#at += length;
    if (length < 0 || this.#at > this.#bytes.length) throw malformed();
    return this;
  }

  skipAll(): void {
    this.#at = this.#bytes.length;
  }

  /** A non-negative number of items. */
  count(): number {
    const count = this.skip(2).#bytes.readInt16BE(this.#at - 2);
    if (count < 0) throw malformed();
    return count;
  }

  int32(): number {
    return this.skip(4).#bytes.readInt32BE(this.#at - 4);
  }

  /** A NUL-terminated string. */
  text(): this {
    const end = this.#bytes.indexOf(0, this.#at);
    if (end < 0) throw malformed();
    this.#at = end + 1;
    return this;
  }

  /**
   * Strings up to an empty one. The fields of an error are such strings, each with its field type as the
   * first letter.
   */
  texts(): void {
    let start: number;
    do {
      start = this.#at;
      this.text();
    } while (this.#at > start + 1);
  }

  /** A length and that many bytes, or -1 for null. */
  value(): void {
    const length = this.int32();
    if (length !== -1) this.skip(length);
  }
}

export function malformed(): DatabaseProblem {
  return new DatabaseProblem(
    "transient",
    "The server at the database's address does not speak the PostgreSQL protocol; check the connection URL.",
  );
}
