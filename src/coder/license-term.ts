import type { LicenseTerm } from "./model.ts";

/** The term that counts, merged from those of all licenses. Times are in milliseconds since the epoch. */
export interface MergedTerm extends LicenseTerm {
  /** Where the deployment stands between the terms of its licenses. */
  readonly state: "notStarted" | "inTerm" | "inGrace" | "over";
}

/**
 * The term of a deployment with these licenses, which coderd reports nowhere. Terms that overlap or follow one another
 * without a gap are one, as in coderd's own warnings: a successor that was uploaded in time ends them. After a term its
 * grace counts until the next begins. Absent without licenses.
 */
export function mergedTerm(licenses: readonly LicenseTerm[], now: number): MergedTerm | undefined {
  const blocks = merged(licenses);
  const current = blocks.find(({ starts, expires }) => starts <= now && now < expires);
  if (current) return { ...current, state: "inTerm" };
  const past = blocks.filter(({ starts }) => starts <= now);
  const last = past.toSorted((one, other) => one.graceEnds - other.graceEnds).at(-1);
  if (last && now < last.graceEnds) return { ...last, state: "inGrace" };
  const [next] = blocks.filter(({ starts }) => starts > now);
  if (next) return { ...next, state: "notStarted" };
  return last && { ...last, state: "over" };
}

function merged(licenses: readonly LicenseTerm[]): LicenseTerm[] {
  const blocks: LicenseTerm[] = [];
  const valid = licenses.filter(({ starts, expires }) => starts <= expires);
  for (const term of valid.toSorted((one, other) => one.starts - other.starts)) {
    const last = blocks.at(-1);
    if (last && term.starts <= last.expires)
      blocks[blocks.length - 1] = {
        starts: last.starts,
        expires: Math.max(last.expires, term.expires),
        graceEnds: Math.max(last.graceEnds, term.graceEnds),
      };
    else blocks.push(term);
  }
  return blocks;
}
