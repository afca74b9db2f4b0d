/** The first entries of a list, separated by commas, and the number of the others. */
export function firstOf(all: readonly string[], max: number, rest = "more"): string {
  const shown = all.slice(0, max).join(", ");
  return all.length > max ? `${shown} and ${all.length - max} ${rest}` : shown;
}
