import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import type { KubeObject, Stored, Wire } from "../object.ts";

export type ManagedFields = Wire<V1ManagedFieldsEntry>;

type FieldSet = { [field: string]: FieldSet };

/** Which fields the manager takes over. */
export interface Adoption {
  readonly manager: string;
  /**
   * All of `spec`, regardless of the manager, and the reference to the controller with this UID, if given:
   * for an object that another owner had until now. Labels and annotations of others are preserved.
   */
  readonly takesOver?: { readonly controllerUid: string | undefined };
}

/**
 * Transfers fields to the server-side apply of `manager`, so that its next apply also removes those that it
 * does not send: the fields that it once set by `Update`, and with `takesOver` those of others. Returns
 * `undefined` if there is nothing to transfer. Entries of subresources are not changed.
 */
export function adoptFields(
  entries: readonly ManagedFields[] | undefined,
  { manager, takesOver }: Adoption,
): ManagedFields[] | undefined {
  return handOver(entries, manager, (entry) => split(entry, takesOver));
}

/**
 * Transfers to the server-side apply of `manager` the fields of others in the structs around the given paths,
 * if the manager has fields in the same struct: its next apply removes those that it does not send. For
 * mutually exclusive fields with different managers. Returns `undefined` if there is nothing to transfer.
 */
export function takeExclusive(
  entries: readonly ManagedFields[] | undefined,
  { manager, paths }: { readonly manager: string; readonly paths: readonly string[] },
): ManagedFields[] | undefined {
  const own = ownOf(entries, manager).map(fieldsOf).reduce(union, {});
  return handOver(entries, manager, (entry) => {
    const all: Gift = { taken: {}, left: fieldsOf(entry) };
    if (entry.subresource) return all;
    return paths.reduce(({ taken, left }, path) => {
      const gives = splitAt(left, own, structAround(path));
      return { taken: union(taken, gives.taken), left: gives.left };
    }, all);
  });
}

interface Gift {
  readonly taken: FieldSet;
  readonly left: FieldSet;
}

/** The path of the struct that contains the field; `*` matches the items of a list. */
function structAround(path: string): string[] {
  const names = path.split(/[.[\]]+/).filter((name) => name !== "");
  const steps = names.map((name) => (/^\d+$/.test(name) ? "*" : name));
  return steps.length > 1 ? steps.slice(0, -1) : steps;
}

/** Splits off the fields below a path where `own` has fields too. */
function splitAt(fields: FieldSet, own: FieldSet, [step, ...rest]: readonly string[]): Gift {
  if (step === undefined) return { taken: fields, left: {} };
  const [taken, left]: [FieldSet, FieldSet] = [{}, {}];
  for (const [name, below] of Object.entries(fields)) {
    const ours = own[name];
    const isOnPath = step === "*" ? name.startsWith("k:") : name === `f:${step}`;
    const gives = isOnPath && ours ? splitAt(below, ours, rest) : { taken: {}, left: below };
    if (Object.keys(gives.taken).length > 0) taken[name] = gives.taken;
    if (Object.keys(gives.left).length > 0 || gives.left === below) left[name] = gives.left;
  }
  return { taken, left };
}

function handOver(
  entries: readonly ManagedFields[] | undefined,
  manager: string,
  split: (entry: ManagedFields) => Gift,
): ManagedFields[] | undefined {
  const own = ownOf(entries, manager);
  const applied = own.find(isApply);
  let taken = fieldsOf(applied);
  const kept: ManagedFields[] = [];
  for (const entry of entries ?? []) {
    if (entry === applied) continue;
    const gives = own.includes(entry) ? { taken: fieldsOf(entry), left: {} } : split(entry);
    taken = union(taken, gives.taken);
    if (Object.keys(gives.left).length > 0) kept.push({ ...entry, fieldsV1: gives.left });
  }
  const [first] = entries ?? [];
  if (!first || sizeOf(taken) === sizeOf(fieldsOf(applied))) return undefined;
  const { subresource: _, ...template } = applied ?? first;
  return [...kept, { ...template, manager, operation: "Apply", fieldsV1: taken }];
}

/**
 * Transfers all fields of the managers `from` to the server-side apply of `to`, for an object that another
 * tool will manage: its next apply has no conflicts with them, and removes those that it does not send.
 * Entries of subresources are not changed.
 */
export function giveFields(
  entries: readonly ManagedFields[] | undefined,
  { from, to }: { readonly from: readonly string[]; readonly to: string },
): ManagedFields[] {
  const isGiven = ({ manager = "", operation, subresource }: ManagedFields) =>
    !subresource && (from.includes(manager) || (manager === to && operation === "Apply"));
  const given = entries?.filter(isGiven) ?? [];
  const [first] = given;
  const kept = entries?.filter((entry) => !given.includes(entry)) ?? [];
  if (!first) return kept;
  const fieldsV1 = given.map(fieldsOf).reduce(union);
  return [...kept, { ...first, manager: to, operation: "Apply", fieldsV1 }];
}

/** Splits the fields of another manager into those to take over and those to leave. */
function split(entry: ManagedFields, takesOver: Adoption["takesOver"]): Gift {
  const fields = fieldsOf(entry);
  if (!takesOver || entry.subresource) return { taken: {}, left: fields };
  const { "f:spec": spec, "f:metadata": metadata = {}, ...rest } = fields;
  const { "f:ownerReferences": references = {}, ...others } = metadata;
  const uidKey = `k:${JSON.stringify({ uid: takesOver.controllerUid })}`;
  const { [uidKey]: reference, ...otherReferences } = references;
  const left = {
    ...rest,
    ...unlessEmpty("f:metadata", { ...others, ...unlessEmpty("f:ownerReferences", otherReferences) }),
  };
  const taken = {
    ...(spec ? { "f:spec": spec } : {}),
    ...(reference ? { "f:metadata": { "f:ownerReferences": { [uidKey]: reference } } } : {}),
  };
  return { taken, left };
}

function unlessEmpty(name: string, fields: FieldSet): FieldSet {
  return Object.keys(fields).some((field) => field !== ".") ? { [name]: fields } : {};
}

/**
 * Reduces `managedFields`, often the largest part of an object, to what decides whether an apply is needed:
 * the fields that `manager` applied, and whether it set others by `Update`.
 */
export function withOwnFields<T extends KubeObject>(object: Stored<T>, manager: string): Stored<T> {
  const { managedFields: all, ...metadata } = object.metadata;
  const managedFields = ownOf(all, manager).map(({ operation, fieldsV1 }) =>
    operation === "Apply" ? { manager, operation, fieldsV1 } : { manager, operation },
  );
  return {
    ...object,
    metadata: { ...metadata, ...(managedFields.length > 0 && { managedFields }) },
  } as Stored<T>;
}

/** Whether `manager` has set fields by `Update` that its apply does not own. */
export function hasUpdatedFields({ metadata }: Stored<KubeObject>, manager: string): boolean {
  return ownOf(metadata.managedFields, manager).some((entry) => !isApply(entry));
}

/**
 * Whether `manager` still owns every field of `desired`: the API server removes a field from its manager when
 * another client changes or removes it.
 */
export function ownsAll(present: Stored<KubeObject>, desired: KubeObject, manager: string): boolean {
  const applied = ownOf(present.metadata.managedFields, manager).find(isApply);
  if (!applied) return false;
  const { apiVersion: _, kind: __, metadata = {}, ...content } = desired;
  const { labels, annotations, ownerReferences } = metadata;
  return covers(fieldsOf(applied), { ...content, metadata: { labels, annotations, ownerReferences } });
}

function covers(fields: FieldSet, value: unknown): boolean {
  const isLeaf = Object.keys(fields).every((field) => field === ".");
  if (isLeaf || typeof value !== "object" || value === null) return true;
  if (Array.isArray(value))
    return value.every((item) => itemFields(fields, item).some((below) => covers(below, item)));
  return Object.entries(value).every(([name, below]) => {
    if (isAbsent(below)) return true;
    const owned = fields[`f:${name}`];
    return owned !== undefined && covers(owned, below);
  });
}

/** The owned fields of a list item: by its value, or by those of its keys that the item itself sets. */
function itemFields(fields: FieldSet, item: unknown): FieldSet[] {
  return Object.entries(fields)
    .filter(([name]) => isOfItem(name, item))
    .map(([, below]) => below);
}

function isOfItem(field: string, item: unknown): boolean {
  if (field.startsWith("v:")) return field === `v:${JSON.stringify(item)}`;
  if (!field.startsWith("k:") || typeof item !== "object" || item === null) return false;
  const given = item as Record<string, unknown>;
  const keys = JSON.parse(field.slice(2)) as Record<string, unknown>;
  // The API server adds defaults for keys, such as a port's protocol.
  return Object.entries(keys).every(([name, value]) => given[name] === undefined || given[name] === value);
}

/**
 * Absent values have no owner, and neither do empty lists; an empty struct such as `emptyDir: {}` has one.
 */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** The entries of a manager, except those of subresources. */
function ownOf(entries: readonly ManagedFields[] | undefined, manager: string): ManagedFields[] {
  return entries?.filter((entry) => entry.manager === manager && !entry.subresource) ?? [];
}

function isApply({ operation }: ManagedFields): boolean {
  return operation === "Apply";
}

function fieldsOf(entry: ManagedFields | undefined): FieldSet {
  return (entry?.fieldsV1 ?? {}) as FieldSet;
}

function sizeOf(fields: FieldSet): number {
  return Object.values(fields).reduce((size, below) => size + 1 + sizeOf(below), 0);
}

function union(left: FieldSet, right: FieldSet): FieldSet {
  const result: FieldSet = { ...left };
  for (const [field, below] of Object.entries(right)) {
    const present = result[field];
    result[field] = present ? union(present, below) : below;
  }
  return result;
}
