import type { LicenseTerm } from "./model.ts";

/** The effective term, merged from all licenses. Times are in milliseconds since the epoch. */
export interface MergedTerm extends LicenseTerm {
  /** Position of the current time relative to the terms. */
  readonly state: "notStarted" | "inTerm" | "inGrace" | "over";
}

/**
 * Merges the terms of the licenses, which coderd does not report. Terms that overlap or are adjacent form one
 * term, as in coderd's own warnings, so a successor that is uploaded in time ends the warnings. The grace
 * period after a term ends when the next term starts. Undefined without licenses.
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
