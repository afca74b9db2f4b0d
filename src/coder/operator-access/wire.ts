import { DatabaseProblem } from "./failure.ts";
import { Body, malformed } from "./wire-body.ts";

/** The letter of a message and its length. */
const HEADER_BYTES = 5;
/** What describes a column after its name. */
const COLUMN_BYTES = 18;

type Read = (body: Body) => void;

const empty: Read = () => {};
const refuse: Read = () => {
  throw malformed();
};

/** By letter, the messages that are read alike at any time. COPY and its like are never asked for. */
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

/** The steps of a login that the driver knows: none, password, MD5, and the three of SCRAM. */
const AUTHENTICATION: ReadonlyMap<number, Read> = new Map<number, Read>([
  [0, empty],
  [3, empty],
  [5, (body) => body.skip(4)],
  [10, (body) => body.texts()],
  [11, (body) => body.skipAll()],
  [12, (body) => body.skipAll()],
]);

/** Puts messages of a Postgres server together and refuses those that a client of ours never gets from one. */
export class MessageReader {
  readonly #mostBytes: number;
  readonly #authentications = new Set<number>();
  #columns = 0;
  #message = Buffer.alloc(HEADER_BYTES);
  #filled = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The messages that `chunk` completes. Throws `DatabaseProblem` at one that is malformed. */
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
    if (size > this.#mostBytes) throw tooLong(this.#mostBytes);
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

  /** The driver copies a row from a template of all columns: short rows of many columns would be a lot of work. */
  #checkRow(body: Body): void {
    if (body.count() !== this.#columns) throw malformed();
    for (let left = this.#columns; left > 0; left--) body.value();
  }

  /** Each step is taken once: the answer to one of them is costly on purpose. */
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

/** For a message, or a connection, that brings more than `mostBytes`. */
export function tooLong(mostBytes: number): DatabaseProblem {
  const message = `The server at the database's address sent more than ${mostBytes / 1024 / 1024} MiB; check the connection URL.`;
  return new DatabaseProblem("transient", message);
}
