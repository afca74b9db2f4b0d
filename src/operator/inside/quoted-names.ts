import { firstOf } from "../first-of.ts";

/** A spec may have thousands of names, and a condition has to stay readable. */
const MAX_NAMES = 10;

/** The first names in quotes, and the number of the others. */
export function quotedNames(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`);
  return firstOf(quoted, MAX_NAMES, "others");
}
