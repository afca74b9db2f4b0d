import { isDeepStrictEqual } from "node:util";
import { isRecord, type KubeObject, type Stored } from "../object.ts";

/**
 * The content of a write: the whole object for a create, the fields of an apply or a merge patch, or
 * undefined if it can't be compared.
 */
export type Sent =
  | { readonly by: "create" }
  | { readonly by: "fields"; readonly fields: object }
  | { readonly by: "other" };

/** An object before and after a write, and the number of its `managedFields` entries afterwards. */
interface Written {
  readonly before: Stored<KubeObject> | undefined;
  readonly after: Stored<KubeObject>;
  readonly managers: number;
}

/**
 * Whether the response to a write contains only the cached object and what was sent. When in doubt, the
 * result is false: an extra run is harmless, a missed change is not.
 *
 * - A create succeeds only if there is no object; if the cache has one, another client deleted it.
 * - An apply without a cached object created it if its fields have no other manager.
 * - A write with a resource version fails for any other version, so there is no change in between.
 * - Otherwise, every difference must be a field that was sent, with the value that was sent.
 */
export function isExplainedBy(sent: Sent, { before, after, managers }: Written): boolean {
  if (sent.by === "create") return before === undefined;
  if (sent.by === "other") return false;
  if (!before) return managers === 1;
  const { metadata: condition } = sent.fields as KubeObject;
  if (condition?.resourceVersion === before.metadata.resourceVersion) return true;
  return isMerged(comparable(before), sent.fields, comparable(after));
}

/** Set by the server on every write, or missing in the items of a list. */
const IGNORED = new Set(["apiVersion", "kind"]);
const IGNORED_METADATA = new Set(["resourceVersion", "generation", "managedFields"]);

/** An object without the fields that do not describe its content. */
export function comparable({ metadata = {}, ...content }: KubeObject): object {
  return { ...without(content, IGNORED), metadata: without(metadata, IGNORED_METADATA) };
}

function without(record: object, names: ReadonlySet<string>): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.has(name)));
}

function isMerged(before: unknown, sent: unknown, after: unknown): boolean {
  if (isDeepStrictEqual(before, after)) return true;
  if (sent === undefined) return false;
  if (sent === null) return after === undefined;
  if (isRecord(sent) && isRecord(after)) {
    const known = isRecord(before) ? before : {};
    const names = new Set([...Object.keys(known), ...Object.keys(after)]);
    return [...names].every((name) => isMerged(known[name], sent[name], after[name]));
  }
  if (Array.isArray(sent) && Array.isArray(after) && Array.isArray(before)) {
    // If others added or removed items, the lengths differ.
    if (sent.length !== after.length || before.length !== after.length) return false;
    return after.every((item, index) => isMerged(before[index], sent[index], item));
  }
  return isDeepStrictEqual(sent, after);
}
