/** Converts parsed JSON into a value of a known type, or throws `UnexpectedShape`. */
export type Decoder<T> = (value: unknown, path: string) => T;

export type Decoded<D extends Decoder<unknown>> = Readonly<ReturnType<D>>;

/**
 * The response is JSON but does not have the expected shape. The message contains the path, never the value.
 */
export class UnexpectedShape extends Error {
  override readonly name = "UnexpectedShape";

  constructor(path: string, what: string) {
    super(`${path === "" ? "the response" : path} is ${what}`);
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

/** Names in coderd are far shorter. Longer strings would only fill statuses and memory. */
const MAX_LENGTH = 4_096;
const MAX_WORD_LENGTH = 128;

export const string = stringOf(MAX_LENGTH);

/** An ID, version or state. */
export const word = stringOf(MAX_WORD_LENGTH);

/** A string of any length, for values that are sent back unchanged. */
export const unlimitedString: Decoder<string> = (value, path) => {
  if (typeof value !== "string") throw unexpected(path, "a string", value);
  return value;
};

/** The beginning of a string of any length. */
export const excerpt: Decoder<string> = (value, path) => unlimitedString(value, path).slice(0, MAX_LENGTH);

function stringOf(maxLength: number): Decoder<string> {
  return (value, path) => {
    const found = unlimitedString(value, path);
    if (found.length > maxLength) throw new UnexpectedShape(path, `longer than ${maxLength} characters`);
    return found;
  };
}

export const number: Decoder<number> = (value, path) => {
  if (typeof value !== "number") throw unexpected(path, "a number", value);
  return value;
};

/** A non-negative integer. */
export const count: Decoder<number> = (value, path) => {
  const found = number(value, path);
  if (!Number.isSafeInteger(found) || found < 0) throw new UnexpectedShape(path, "not a count");
  return found;
};

/** A time in the format of coderd, in milliseconds since the epoch. */
export const time: Decoder<number> = (value, path) => {
  const parsed = Date.parse(word(value, path));
  if (Number.isNaN(parsed)) throw new UnexpectedShape(path, "not a time");
  return parsed;
};

/** The last second of the year 9999. RFC 3339 cannot represent later times. */
const LAST_SECOND = 253_402_300_799;

/** A time in seconds since the epoch, converted to milliseconds. */
export const unixTime: Decoder<number> = (value, path) => {
  const seconds = number(value, path);
  if (!(seconds >= 0 && seconds <= LAST_SECOND)) throw new UnexpectedShape(path, "not a time");
  return Math.floor(seconds) * 1_000;
};

export const boolean: Decoder<boolean> = (value, path) => {
  if (typeof value !== "boolean") throw unexpected(path, "a boolean", value);
  return value;
};

/** A list with a maximum length. Go encodes an empty list as `null`. */
export function list<T>(item: Decoder<T>, most = Number.POSITIVE_INFINITY): Decoder<readonly T[]> {
  return (value, path) => {
    if (value === null) return [];
    if (!Array.isArray(value)) throw unexpected(path, "a list", value);
    if (value.length > most) throw new UnexpectedShape(path, `a list of more than ${most}`);
    return value.map((element, index) => item(element, `${path}[${index}]`));
  };
}

/** A map from string to `T`. Go encodes an empty map as `null`. Error messages contain no key, which may be private. */
export function record<T>(item: Decoder<T>): Decoder<Readonly<Record<string, T>>> {
  return (value, path) => {
    if (value === null) return {};
    const entries = Object.entries(fields(value, path));
    return Object.fromEntries(entries.map(([key, element]) => [key, item(element, `${path}.*`)]));
  };
}

/** A map from string to string. Longer keys and values are truncated and marked. */
export function truncatedRecord(length: number): Decoder<Readonly<Record<string, string>>> {
  const cut = (text: string) => (text.length > length ? `${text.slice(0, length)}…` : text);
  return (value, path) => {
    const entries = Object.entries(record(excerpt)(value, path));
    return Object.fromEntries(entries.map(([key, text]) => [cut(key), cut(text)]));
  };
}

export function optional<T>(item: Decoder<T>): Decoder<T | undefined> {
  return (value, path) => (value === undefined || value === null ? undefined : item(value, path));
}

/** Decodes an object field by field. Each field knows its path for error messages. */
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
