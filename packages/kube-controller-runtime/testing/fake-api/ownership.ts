import { isDeepStrictEqual } from "node:util";
import type { ObjectMeta } from "../../src/object.ts";
import { ITEM, keyed, unkeyed } from "./keyed-lists.ts";
import { isJsonObject, type Json, type JsonObject, mergePatch } from "./patches.ts";

/** The field manager, the operation and the time. */
export interface Writer {
  readonly manager: string;
  readonly time: string;
}

type ManagedFields = NonNullable<ObjectMeta["managedFields"]>;
type Entry = ManagedFields[number];
/** The fields of a manager: every leaf below an object; a list without keys counts as one leaf. */
type Paths = Set<string>;

const SEPARATOR = "\0";
/** Fields that the server sets have no manager. */
const UNOWNED = new Set([
  "apiVersion",
  "kind",
  ...[
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
  ].map((field) => `metadata${SEPARATOR}${field}`),
]);

/**
 * Server-side apply with force: sets the applied fields and removes those that this manager applied before
 * and omits now.
 */
export function applied(present: JsonObject, desired: JsonObject, writer: Writer): JsonObject {
  const [current, wanted] = [keyed(present), keyed(desired)];
  const entries = managedFieldsOf(current);
  const mine = entries.find((entry) => isOf(entry, writer, "Apply"));
  const others = entries.filter((entry) => entry !== mine);
  const paths = leafPaths(wanted);
  const owned = new Set(others.flatMap((entry) => [...pathsOf(entry)]));
  const result = inOrderOf(wanted, mergePatch(current, wanted) as JsonObject);
  for (const path of mine ? pathsOf(mine) : []) {
    if (!covers(paths, path) && !owned.has(path)) removePath(result, path.split(SEPARATOR));
  }
  const taken = new Set([...paths].filter((path) => !sameAt(path, current, result)));
  return withOwners(unkeyed(result) as JsonObject, [
    ...without(others, taken),
    newEntry(result, paths, { ...writer, operation: "Apply" }),
  ]);
}

/** Any other write: its manager owns the changed fields. */
export function updated(before: JsonObject, after: JsonObject, writer: Writer): JsonObject {
  const [earlier, later] = [keyed(before), keyed(after)];
  const left = leafPaths(later);
  const changed = new Set([...left].filter((path) => !sameAt(path, earlier, later)));
  const gone = [...leafPaths(earlier)].filter((path) => !left.has(path));
  if (changed.size === 0 && gone.length === 0) return after;
  const entries = without(managedFieldsOf(after), new Set(gone));
  if (changed.size === 0) return withOwners(after, entries);
  const mine = entries.find((entry) => isOf(entry, writer, "Update"));
  const others = entries.filter((entry) => entry !== mine);
  const paths = new Set([...(mine ? pathsOf(mine) : []), ...changed]);
  return withOwners(after, [
    ...without(others, changed),
    newEntry(after, paths, { ...writer, operation: "Update" }),
  ]);
}

function managedFieldsOf(object: JsonObject): ManagedFields {
  return (object.metadata as ObjectMeta | undefined)?.managedFields ?? [];
}

function withOwners(object: JsonObject, managedFields: ManagedFields): JsonObject {
  return { ...object, metadata: { ...(object.metadata as ObjectMeta), managedFields } };
}

function isOf(entry: Entry, { manager }: Writer, operation: string): boolean {
  return entry.manager === manager && entry.operation === operation;
}

function newEntry(object: JsonObject, paths: Paths, writer: Writer & { operation: string }): Entry {
  return {
    ...writer,
    apiVersion: String(object.apiVersion),
    fieldsType: "FieldsV1",
    fieldsV1: fieldsOf(paths),
  };
}

function without(entries: ManagedFields, paths: Paths): ManagedFields {
  const left = entries.map((entry) => ({
    ...entry,
    fieldsV1: fieldsOf(new Set([...pathsOf(entry)].filter((path) => !paths.has(path)))),
  }));
  return left.filter(({ fieldsV1 }) => Object.keys(fieldsV1).length > 0);
}

function leafPaths(value: JsonObject, prefix = ""): Paths {
  const paths: Paths = new Set();
  for (const [name, child] of Object.entries(value)) {
    const path = prefix + name;
    if (UNOWNED.has(path)) continue;
    if (isJsonObject(child) && Object.keys(child).length > 0) {
      for (const leaf of leafPaths(child, path + SEPARATOR)) paths.add(leaf);
    } else paths.add(path);
  }
  return paths;
}

/** Whether the path is in the set, or is now a prefix of a path in the set. */
function covers(paths: Paths, path: string): boolean {
  return paths.has(path) || [...paths].some((each) => each.startsWith(path + SEPARATOR));
}

function fieldsOf(paths: Paths): JsonObject {
  const fields: JsonObject = {};
  for (const path of paths) {
    let node = fields;
    for (const name of path.split(SEPARATOR)) {
      const field = name.startsWith(ITEM) ? name : `f:${name}`;
      const child = node[field] ?? {};
      node[field] = child;
      node = child as JsonObject;
    }
  }
  return fields;
}

function pathsOf({ fieldsV1 }: Entry): Paths {
  const paths: Paths = new Set();
  for (const path of leafPaths((fieldsV1 ?? {}) as JsonObject)) {
    paths.add(
      path
        .split(SEPARATOR)
        .map((name) => name.replace(/^f:/, ""))
        .join(SEPARATOR),
    );
  }
  return paths;
}

function sameAt(path: string, a: JsonObject, b: JsonObject): boolean {
  const names = path.split(SEPARATOR);
  const read = (object: JsonObject) =>
    names.reduce<Json>((value, name) => (isJsonObject(value) ? value[name] : undefined), object);
  return isDeepStrictEqual(read(a), read(b));
}

/**
 * Removes a field and every object that becomes empty. `object` is only modified where the merge copied it.
 */
function removePath(object: JsonObject, [name = "", ...rest]: string[]): void {
  const child = object[name];
  if (rest.length === 0) delete object[name];
  else if (isJsonObject(child)) {
    const copy = { ...child };
    removePath(copy, rest);
    if (Object.keys(copy).length > 0) object[name] = copy;
    else delete object[name];
  }
}

/** Items of lists are in the order of the apply, followed by those of other managers. */
function inOrderOf(wanted: JsonObject, result: JsonObject): JsonObject {
  const first = Object.keys(wanted).filter((name) => name in result);
  const names = Object.keys(result).some((name) => name.startsWith(ITEM))
    ? [...new Set([...first, ...Object.keys(result)])]
    : Object.keys(result);
  const ordered = names.map((name) => {
    const [child, model] = [result[name], wanted[name]];
    return [name, isJsonObject(child) && isJsonObject(model) ? inOrderOf(model, child) : child];
  });
  return Object.fromEntries(ordered);
}
