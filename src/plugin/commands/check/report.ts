import { firstOf } from "../../../operator/first-of.ts";
/** The result of one check of the installation. */
export interface Finding {
  readonly what: string;
  /** `note` is information that needs no action. */
  readonly verdict: "good" | "wrong" | "unknown" | "note";
  readonly message: string;
}

export interface CheckReport {
  readonly findings: readonly Finding[];
  readonly gaps: readonly string[];
}

export function finding(what: string, verdict: Finding["verdict"], message: string): Finding {
  return { what, verdict, message };
}

const MAX_SHOWN = 5;

/** The first entries of a list, and the number of the others. */
export function some(all: readonly string[]): string {
  return firstOf(all, MAX_SHOWN);
}
