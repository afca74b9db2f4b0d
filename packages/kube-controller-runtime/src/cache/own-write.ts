import { isDeepStrictEqual } from "node:util";
import { isRecord, type KubeObject, type Stored } from "../object.ts";

/**
 * What a write asked for: all of an object that was created, the fields of an apply or a merge patch, or
 * nothing that can be compared.
 */
export type Sent =
  | { readonly by: "create" }
  | { readonly by: "fields"; readonly fields: object }
  | { readonly by: "other" };

/** An object before and after a write, and how many entries its `managedFields` have then. */
interface Written {
  readonly before: Stored<KubeObject> | undefined;
  readonly after: Stored<KubeObject>;
  readonly managers: number;
}

/**
 * Whether the answer to a write holds nothing but the object as it was known before and what was sent. When
 * in doubt, the answer is no: a run too many does no harm, a change that nobody notices does.
 *
 * - A creation succeeds only where there is nothing; where something was, somebody deleted it.
 * - An apply where nothing was known made the object if its fields have no other manager.
 * - A write on condition of a version fails on any other, so nothing can have come in between.
 * - Else every difference must be a field that was sent, with the value that was sent.
 */
export function isExplainedBy(sent: Sent, { before, after, managers }: Written): boolean {
  if (sent.by === "create") return before === undefined;
  if (sent.by === "other") return false;
  if (!before) return managers === 1;
  const { metadata: condition } = sent.fields as KubeObject;
  if (condition?.resourceVersion === before.metadata.resourceVersion) return true;
  return isMerged(comparable(before), sent.fields, comparable(after));
}

/** Set by the server with every write, or missing from the items of a list. */
const IGNORED = new Set(["apiVersion", "kind"]);
const IGNORED_METADATA = new Set(["resourceVersion", "generation", "managedFields"]);

/** An object without what says nothing of its content. */
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
    // Items that others added or removed leave lists of another length than what was known or sent.
    if (sent.length !== after.length || before.length !== after.length) return false;
    return after.every((item, index) => isMerged(before[index], sent[index], item));
  }
  return isDeepStrictEqual(sent, after);
}
