/** One question about the installation, and its answer. */
export interface Finding {
  readonly what: string;
  /** `note` is good to know, and nothing to do now. */
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

/** The first of a list, and how many more there are. */
export function some(all: readonly string[]): string {
  const more = all.length > MAX_SHOWN ? ` and ${all.length - MAX_SHOWN} more` : "";
  return `${all.slice(0, MAX_SHOWN).join(", ")}${more}`;
}
