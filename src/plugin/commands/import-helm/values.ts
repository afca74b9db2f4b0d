import { isEmpty, isObject, type Json, type JsonObject, propertyOf, withoutNulls } from "./json.ts";

/** A value that has no field, or a field with a different meaning. */
export interface Remark {
  /** The path in the values. Never the value, which may be a secret. */
  readonly value: string;
  readonly text: string;
}

/** Merges like Helm: maps are merged, other values replace the default, and null removes it. */
export function withValues(defaults: JsonObject, given: JsonObject): JsonObject {
  // Throws if the value is nested too deeply.
  const kept = withoutNulls(defaults) as JsonObject;
  withoutNulls(given);
  return withoutNulls(merged(kept, given)) as JsonObject;
}

function merged(defaults: JsonObject, given: JsonObject): JsonObject {
  const entries = Object.entries(given).map(([name, value]): [string, Json] => {
    const below = propertyOf(defaults, name);
    return [name, isObject(value) && isObject(below) ? merged(below, value) : value];
  });
  return { ...defaults, ...Object.fromEntries(entries) };
}

/**
 * Reads values by path and records which ones were read, so that unread values can be reported. A value of an
 * unexpected type is dropped with a remark.
 */
export class ValuesReader {
  readonly #values: JsonObject;
  readonly #given: JsonObject;
  readonly #asked = new Set<string>();
  readonly #remarks: Remark[] = [];

  constructor(values: JsonObject, given: JsonObject) {
    this.#values = values;
    this.#given = given;
  }

  text(path: string): string | undefined {
    const value = this.#read(path);
    if (typeof value === "number" || typeof value === "boolean") return `${value}`;
    return this.#ofType(path, (text) => typeof text === "string");
  }

  flag(path: string): boolean | undefined {
    return this.#ofType(path, (value) => typeof value === "boolean");
  }

  /** Also accepts digits in quotes, which Helm prints like a number. */
  number(path: string): number | undefined {
    const value = this.#read(path);
    if (typeof value === "string" && /^\d{1,9}$/.test(value)) return Number(value);
    return this.#ofType(path, (number): number is number => Number.isSafeInteger(number));
  }

  /** The chart's own defaults use an empty map for an empty list. */
  list(path: string): readonly Json[] | undefined {
    return this.#ofType(path, (value): value is readonly Json[] => Array.isArray(value));
  }

  map(path: string): JsonObject | undefined {
    return this.#ofType(path, isObject);
  }

  /** Whether the user set this value or one below it. */
  isGiven(path: string): boolean {
    return !isEmpty(at(this.#given, path));
  }

  remark(value: string, text: string): void {
    this.#asked.add(value);
    this.#remarks.push({ value, text });
  }

  /** All remarks, and one for each value that the user set and no field uses. */
  remarks(): Remark[] {
    const forgotten = leafPaths(this.#given, "").filter((path) => !this.#isAsked(path));
    const text = "No field corresponds to it, and Coder's chart does not use it.";
    return [...this.#remarks, ...forgotten.map((value) => ({ value, text }))];
  }

  #read(path: string): Json {
    this.#asked.add(path);
    const value = at(this.#values, path);
    return isEmpty(value) ? undefined : value;
  }

  #ofType<T>(path: string, matches: (value: Json) => value is T): T | undefined {
    const value = this.#read(path);
    if (value === undefined || matches(value)) return value;
    this.remark(path, "Omitted: its type is not the one that the chart expects.");
    return undefined;
  }

  #isAsked(path: string): boolean {
    return [...this.#asked].some((asked) => path === asked || path.startsWith(`${asked}.`));
  }
}

function at(values: JsonObject, path: string): Json {
  return path.split(".").reduce<Json>((value, name) => propertyOf(value, name), values);
}

function leafPaths(value: Json, path: string): string[] {
  if (isEmpty(value)) return [];
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([name, below]) => leafPaths(below, path ? `${path}.${name}` : name));
}
