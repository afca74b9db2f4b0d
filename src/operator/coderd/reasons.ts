import type { CoderFailure } from "../../coder/failure.ts";

type Reasons = Readonly<Record<CoderFailure["kind"], string>>;

const reasons: Reasons = {
  duplicate: "Rejected",
  forbidden: "Forbidden",
  invalid: "Rejected",
  notEntitled: "NotEntitled",
  notFound: "NotSupported",
  rateLimited: "RateLimited",
  transient: "CoderdUnreachable",
  unsupported: "NotSupported",
};

/** What a failure of coderd means in a condition; `words` has what it means there in particular. */
export function reasonOf({ kind }: CoderFailure, words: Partial<Reasons> = {}): string {
  return words[kind] ?? reasons[kind];
}
