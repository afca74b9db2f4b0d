/** Turns parsed JSON into a value of a known shape, or throws `UnexpectedShape`. */
export type Decoder<T> = (value: unknown, path: string) => T;

/** The values that a decoder makes. */
export type Decoded<D extends Decoder<unknown>> = Readonly<ReturnType<D>>;

/** An answer was JSON but not of the shape this client knows. Says where and what, never the value. */
export class UnexpectedShape extends Error {
  override readonly name = "UnexpectedShape";

  constructor(path: string, what: string) {
    super(`${path === "" ? "the answer" : path} is ${what}`);
  }
}

function unexpected(path: string, expected: string, value: unknown): UnexpectedShape {
  return new UnexpectedShape(path, `${typeName(value)} where ${expected} was expected`);
}

function typeName(value: unknown): string {
  if (value === undefined) return "absent";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** What coderd calls something is far shorter; a longer text would only fill statuses and memory. */
const MAX_LENGTH = 4_096;
const MAX_WORD_LENGTH = 128;

export const string = stringOf(MAX_LENGTH);

/** An identifier, a version or a state. */
export const word = stringOf(MAX_WORD_LENGTH);

/** A text of any length, for what is sent back as it was. */
export const wholeText: Decoder<string> = (value, path) => {
  if (typeof value !== "string") throw unexpected(path, "a string", value);
  return value;
};

/** The beginning of a text of any length. */
export const excerpt: Decoder<string> = (value, path) => wholeText(value, path).slice(0, MAX_LENGTH);

function stringOf(maxLength: number): Decoder<string> {
  return (value, path) => {
    const found = wholeText(value, path);
    if (found.length > maxLength) throw new UnexpectedShape(path, `longer than ${maxLength} characters`);
    return found;
  };
}

export const number: Decoder<number> = (value, path) => {
  if (typeof value !== "number") throw unexpected(path, "a number", value);
  return value;
};

/** How many there are of something. */
export const count: Decoder<number> = (value, path) => {
  const found = number(value, path);
  if (!Number.isSafeInteger(found) || found < 0) throw new UnexpectedShape(path, "no count");
  return found;
};

/** A time as coderd writes it, in milliseconds since the epoch. */
export const time: Decoder<number> = (value, path) => {
  const parsed = Date.parse(word(value, path));
  if (Number.isNaN(parsed)) throw new UnexpectedShape(path, "no time");
  return parsed;
};

/** The last second of the year 9999: later ones have no RFC 3339 form. */
const LAST_SECOND = 253_402_300_799;

/** A time in seconds since the epoch, in milliseconds. */
export const unixTime: Decoder<number> = (value, path) => {
  const seconds = number(value, path);
  if (!(seconds >= 0 && seconds <= LAST_SECOND)) throw new UnexpectedShape(path, "no time");
  return Math.floor(seconds) * 1_000;
};

export const boolean: Decoder<boolean> = (value, path) => {
  if (typeof value !== "boolean") throw unexpected(path, "a boolean", value);
  return value;
};

/** A list of no more than `most`; Go writes an empty one as `null`. */
export function list<T>(item: Decoder<T>, most = Number.POSITIVE_INFINITY): Decoder<readonly T[]> {
  return (value, path) => {
    if (value === null) return [];
    if (!Array.isArray(value)) throw unexpected(path, "a list", value);
    if (value.length > most) throw new UnexpectedShape(path, `a list of more than ${most}`);
    return value.map((element, index) => item(element, `${path}[${index}]`));
  };
}

/** A map from string to `T`; Go writes an empty one as `null`. */
export function record<T>(item: Decoder<T>): Decoder<Readonly<Record<string, T>>> {
  return (value, path) => {
    if (value === null) return {};
    const entries = Object.entries(fields(value, path));
    return Object.fromEntries(entries.map(([key, element]) => [key, item(element, `${path}.${key}`)]));
  };
}

/** A map from string to string, with what is longer than `length` cut there and marked as cut. */
export function cutRecord(length: number): Decoder<Readonly<Record<string, string>>> {
  const cut = (text: string) => (text.length > length ? `${text.slice(0, length)}…` : text);
  return (value, path) => {
    const entries = Object.entries(record(excerpt)(value, path));
    return Object.fromEntries(entries.map(([key, text]) => [cut(key), cut(text)]));
  };
}

export function optional<T>(item: Decoder<T>): Decoder<T | undefined> {
  return (value, path) => (value === undefined || value === null ? undefined : item(value, path));
}

/** Reads one field of an object after another; each knows its own path for the error message. */
export function object<T>(read: (field: <F>(name: string, decoder: Decoder<F>) => F) => T): Decoder<T> {
  return (value, path) => {
    const source = fields(value, path);
    return read((name, decoder) => decoder(source[name], `${path}.${name}`));
  };
}

function fields(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unexpected(path, "an object", value);
  return value as Record<string, unknown>;
}
