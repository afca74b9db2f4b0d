/** A guard of the code, broken: the suite must notice. */
export interface Mutant {
  /** What the guard keeps from happening. */
  readonly guard: string;
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly from: string;
  readonly to: string;
  /** Where a test fails then: files or folders, as vitest takes them. */
  readonly tests: readonly string[];
}
