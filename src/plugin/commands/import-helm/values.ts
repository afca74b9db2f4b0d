import { isEmpty, isObject, type Json, type JsonObject, propertyOf, withoutNulls } from "./json.ts";

/** What a person has to know about a value: it has no field, or not the same meaning. */
export interface Remark {
  /** Its path in the values. Never the value, which may be a secret. */
  readonly value: string;
  readonly text: string;
}

/** As Helm does it: maps are merged, all else replaces the default, and null removes it. */
export function withValues(defaults: JsonObject, given: JsonObject): JsonObject {
  // Fails for what is nested too deeply to be merged.
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
 * Reads values by their paths, notes what it was asked for, and so knows which values nobody asked for. A value of
 * another type than asked for is left out with a remark.
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

  /** Also takes digits in quotes, which Helm prints like a number. */
  number(path: string): number | undefined {
    const value = this.#read(path);
    if (typeof value === "string" && /^\d{1,9}$/.test(value)) return Number(value);
    return this.#ofType(path, (number): number is number => Number.isSafeInteger(number));
  }

  /** The chart's own defaults have an empty map in the place of a list. */
  list(path: string): readonly Json[] | undefined {
    return this.#ofType(path, (value): value is readonly Json[] => Array.isArray(value));
  }

  map(path: string): JsonObject | undefined {
    return this.#ofType(path, isObject);
  }

  /** Whether a person gave this value, or one below it. */
  isGiven(path: string): boolean {
    return !isEmpty(at(this.#given, path));
  }

  remark(value: string, text: string): void {
    this.#asked.add(value);
    this.#remarks.push({ value, text });
  }

  /** All remarks, with one for each value that a person gave and nobody asked for. */
  remarks(): Remark[] {
    const forgotten = leafPaths(this.#given, "").filter((path) => !this.#isAsked(path));
    const text = "No field has this meaning, and Coder's chart does not read it.";
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
    this.remark(path, "It has another type than the chart expects, and is left out.");
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
