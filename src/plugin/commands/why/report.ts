/** One thing that is so because of the next deeper ones. */
export interface Link {
  readonly depth: number;
  /** `kind/name` of what it is about. */
  readonly object: string;
  /** In a few words. */
  readonly state: string;
  /** In sentences, with what to do. */
  readonly message?: string;
  readonly severity: "wrong" | "waiting";
}

export interface WhyReport {
  readonly subject: string;
  /** The answer in one sentence. */
  readonly answer: string;
  /** From what was asked about down to the causes. */
  readonly chain: readonly Link[];
  /** False when too little could be read to say that nothing is wrong. */
  readonly isKnown: boolean;
  readonly gaps: readonly string[];
}
