/** Data from outside, as JSON or YAML gives it. */
export type Json = unknown;
export type JsonObject = Readonly<Record<string, Json>>;

/** Deeper than any values file of people, and far from the end of the stack. */
const MAX_DEPTH = 64;

export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own property; never one that every object has, such as `constructor`. */
export function propertyOf(value: Json, name: string): Json {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/**
 * A copy without fields and entries that are null: to Kubernetes and Helm these are absent. Fails where data is
 * nested deeper than any manifest is.
 */
export function withoutNulls(value: Json, depth = 0): Json {
  if (depth > MAX_DEPTH) throw new RangeError(`values are nested more than ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    return value.filter((entry) => entry !== null).map((entry) => withoutNulls(entry, depth + 1));
  }
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([, below]) => below !== null && below !== undefined);
  return Object.fromEntries(kept.map(([name, below]) => [name, withoutNulls(below, depth + 1)]));
}

/** Nothing that Kubernetes would keep. */
export function isEmpty(value: Json): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
