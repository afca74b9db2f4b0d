import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import type { Wire } from "../object.ts";

export type ManagedFields = Wire<V1ManagedFieldsEntry>;

type FieldSet = { [field: string]: FieldSet };

/**
 * Hands the fields that `manager` once set by `Update` over to its server-side apply, so that the next
 * apply also removes those it no longer sends. Returns `undefined` when there is nothing to hand over.
 * Entries of other managers and of subresources stay as they are.
 */
export function adoptUpdatedFields(
  entries: readonly ManagedFields[] | undefined,
  manager: string,
): ManagedFields[] | undefined {
  const isOwn = (entry: ManagedFields) => entry.manager === manager && !entry.subresource;
  const updated = entries?.filter((entry) => isOwn(entry) && entry.operation === "Update") ?? [];
  const [first] = updated;
  if (!entries || !first) return undefined;
  const applied = entries.find((entry) => isOwn(entry) && entry.operation === "Apply");
  const merged: ManagedFields = {
    ...(applied ?? { ...first, operation: "Apply" }),
    fieldsV1: [applied, ...updated].reduce<FieldSet>((all, entry) => union(all, fieldsOf(entry)), {}),
  };
  return [...entries.filter((entry) => entry !== applied && !updated.includes(entry)), merged];
}

function fieldsOf(entry: ManagedFields | undefined): FieldSet {
  return (entry?.fieldsV1 ?? {}) as FieldSet;
}

function union(left: FieldSet, right: FieldSet): FieldSet {
  const result: FieldSet = { ...left };
  for (const [field, below] of Object.entries(right)) {
    const present = result[field];
    result[field] = present ? union(present, below) : below;
  }
  return result;
}
