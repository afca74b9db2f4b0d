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
