/** A spec may have thousands of names, and a condition has to stay readable. */
const MAX_NAMES = 10;

/** The first names in quotes, and the number of the others. */
export function quotedNames(names: readonly string[]): string {
  const quoted = names.slice(0, MAX_NAMES).map((name) => `"${name}"`);
  const others = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} others` : "";
  return `${quoted.join(", ")}${others}`;
}
