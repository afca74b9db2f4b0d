import type { SecretKeyRef } from "../api/v1alpha1/common.ts";

/*
 * Small tools for the border where a manifest becomes settings: what is blank counts as absent there, and
 * code behind the border need not check again.
 */

/** The text without blanks around it; nothing but blanks is absent. */
export function trimmed(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}

/** Trimmed, without blanks and without repeats, in the order given. */
export function distinctNames(names: readonly string[] | undefined): string[] {
  return [...new Set((names ?? []).map((name) => name.trim()))].filter(Boolean);
}

/** The entries with distinct keys; the first of each key stays. */
export function distinctBy<T>(entries: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map<string, T>();
  for (const entry of entries) if (!byKey.has(keyOf(entry))) byKey.set(keyOf(entry), entry);
  return [...byKey.values()];
}

/** A value in a Secret of the object's namespace; nothing about it is left open. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** The reference with its default key; absent when it names no Secret. */
export function secretKey(ref: SecretKeyRef | undefined, defaultKey: string): SecretKey | undefined {
  const name = trimmed(ref?.name);
  return name ? { name, key: trimmed(ref?.key) ?? defaultKey } : undefined;
}

type MaybeAbsent<T> = {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};
type AlwaysThere<T> = { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] };

/** The fields that have a value: an object for server-side apply names only what we mean to own. */
export function defined<T extends object>(fields: T): AlwaysThere<T> & MaybeAbsent<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as AlwaysThere<T> & MaybeAbsent<T>;
}

/** The list, or absent when there is nothing in it: an empty list would be owned and fought over. */
export function unlessEmpty<T>(list: readonly T[]): T[] | undefined {
  return list.length > 0 ? [...list] : undefined;
}

/**
 * The function, which works once on each object and returns the same result for it afterwards. For objects that never
 * change, as those of a cache: another version of one is another object.
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
