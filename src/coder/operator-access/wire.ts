import { DatabaseProblem } from "./failure.ts";
import { Body, malformed } from "./wire-body.ts";

/** The type of a message and its length. */
const HEADER_BYTES = 5;
/** The description of a column after its name. */
const COLUMN_BYTES = 18;

type Read = (body: Body) => void;

const empty: Read = () => {};
const refuse: Read = () => {
  throw malformed();
};

/**
 * Messages that are validated in the same way at any time, by type. COPY and similar messages are never
 * requested.
 */
const SIMPLE: ReadonlyMap<string, Read> = new Map<string, Read>([
  ["1", empty],
  ["2", empty],
  ["3", empty],
  ["I", empty],
  ["n", empty],
  ["A", (body) => body.skip(4).text().text()],
  ["C", (body) => body.text()],
  ["E", (body) => body.texts()],
  ["K", (body) => body.skip(8).skipAll()],
  ["N", (body) => body.texts()],
  ["S", (body) => body.text().text()],
  ["Z", (body) => body.skip(1)],
]);

/** The authentication steps that the driver supports: none, password, MD5, and the three of SCRAM. */
const AUTHENTICATION: ReadonlyMap<number, Read> = new Map<number, Read>([
  [0, empty],
  [3, empty],
  [5, (body) => body.skip(4)],
  [10, (body) => body.texts()],
  [11, (body) => body.skipAll()],
  [12, (body) => body.skipAll()],
]);

/** Assembles messages of a Postgres server and rejects those that this client never expects. */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #authentications = new Set<number>();
  #columns = 0;
  #message = Buffer.alloc(HEADER_BYTES);
  #filled = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the messages that `chunk` completes. Throws `DatabaseProblem` for a malformed message. */
  *read(chunk: Buffer): Generator<Buffer> {
    for (let rest = chunk; rest.length > 0; ) {
      const taken = rest.copy(this.#message, this.#filled);
      rest = rest.subarray(taken);
      this.#filled += taken;
      if (this.#filled < this.#message.length) return;
      const size = this.#announced();
      if (size > this.#filled) {
        this.#message = Buffer.concat([this.#message], size);
        continue;
      }
      const message = this.#message;
      this.#message = Buffer.alloc(HEADER_BYTES);
      this.#filled = 0;
      this.#check(message);
      yield message;
    }
  }

  #announced(): number {
    const size = this.#message.readUInt32BE(1) + 1;
    if (size < HEADER_BYTES) throw malformed();
    if (size > this.#maxBytes) throw tooLong(this.#maxBytes);
    return size;
  }

  #check(message: Buffer): void {
    const body = new Body(message.subarray(HEADER_BYTES));
    const letter = String.fromCharCode(message[0] ?? 0);
    if (letter === "R") this.#checkAuthentication(body);
    else if (letter === "T") this.#checkColumns(body);
    else if (letter === "D") this.#checkRow(body);
    else (SIMPLE.get(letter) ?? refuse)(body);
    if (!body.isRead) throw malformed();
  }

  #checkColumns(body: Body): void {
    this.#columns = body.count();
    for (let left = this.#columns; left > 0; left--) body.text().skip(COLUMN_BYTES);
  }

  /**
   * The driver copies each row from a template of all columns, so short rows with many columns would be
   * expensive.
   */
  #checkRow(body: Body): void {
    if (body.count() !== this.#columns) throw malformed();
    for (let left = this.#columns; left > 0; left--) body.value();
  }

  /** Each step is allowed once, because the response to one of them is intentionally expensive. */
  #checkAuthentication(body: Body): void {
    const step = body.int32();
    if (this.#authentications.has(step)) throw malformed();
    this.#authentications.add(step);
    const read = AUTHENTICATION.get(step);
    if (!read)
      throw new DatabaseProblem(
        "authenticationFailed",
        "The database requires an authentication method that the operator does not support; use a password.",
      );
    read(body);
  }
}

/** For a message or a connection that exceeds `maxBytes`. */
export function tooLong(maxBytes: number): DatabaseProblem {
  const message = `The server at the database's address sent more than ${maxBytes / 1024 / 1024} MiB; check the connection URL.`;
  return new DatabaseProblem("transient", message);
}
