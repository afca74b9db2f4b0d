import type { SecretKeyRef } from "../api/v1alpha1/common.ts";

/*
 * Helpers to convert a manifest to settings. Blank values count as absent, so that other code need not check
 * again.
 */

/** Trims whitespace. Returns undefined for a blank text. */
export function trimmed(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}

/** Trimmed names without blank and duplicate entries, in the same order. */
export function distinctNames(names: readonly string[] | undefined): string[] {
  return [...new Set((names ?? []).map((name) => name.trim()))].filter(Boolean);
}

/** The first entry of each key. */
export function distinctBy<T>(entries: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map<string, T>();
  for (const entry of entries) if (!byKey.has(keyOf(entry))) byKey.set(keyOf(entry), entry);
  return [...byKey.values()];
}

/** A key in a Secret in the object's namespace, with defaults applied. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** The reference with its default key, or undefined if it has no Secret name. */
export function secretKey(ref: SecretKeyRef | undefined, defaultKey: string): SecretKey | undefined {
  const name = trimmed(ref?.name);
  return name ? { name, key: trimmed(ref?.key) ?? defaultKey } : undefined;
}

type MaybeAbsent<T> = {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};
type AlwaysThere<T> = { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] };

/** Drops undefined fields, because an object for server-side apply must contain only the fields to own. */
export function defined<T extends object>(fields: T): AlwaysThere<T> & MaybeAbsent<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as AlwaysThere<T> & MaybeAbsent<T>;
}

/** The list, or undefined if it is empty, because an empty list would own the field and cause conflicts. */
export function unlessEmpty<T>(list: readonly T[]): T[] | undefined {
  return list.length > 0 ? [...list] : undefined;
}

/**
 * Memoizes a function by object. For immutable objects, such as cached objects, whose versions are different
 * objects.
 */
export function oncePerObject<T extends object, R>(compute: (object: T) => R): (object: T) => R {
  const results = new WeakMap<T, { readonly value: R }>();
  return (object) => {
    const known = results.get(object);
    if (known) return known.value;
    const value = compute(object);
    results.set(object, { value });
    return value;
  };
}
