/**
 * Freezes JSON data through and through, so that a reader that changes what others read fails at once instead
 * of corrupting them. Data that is frozen already is not visited again.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const name in value) deepFreeze(value[name]);
  return value;
}
