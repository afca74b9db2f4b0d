/** External data in JSON or YAML. */
export type Json = unknown;
export type JsonObject = Readonly<Record<string, Json>>;

/** Deeper than any real values file, and far below the limit of the stack. */
const MAX_DEPTH = 64;

export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own property; never an inherited one such as `constructor`. */
export function propertyOf(value: Json, name: string): Json {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/**
 * A copy without null fields and entries: Kubernetes and Helm treat null as absent. Throws if the data is
 * nested too deeply.
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

/** Whether Kubernetes would drop the value. */
export function isEmpty(value: Json): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
