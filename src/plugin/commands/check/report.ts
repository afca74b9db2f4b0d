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
