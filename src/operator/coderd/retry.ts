import type { Random } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import { rateLimitDelay } from "../../coder/rate-limit.ts";

/** What a memory keeps so that a coderd which is short of breath is asked less and less. */
export interface RateLimitMemory {
  /** Rate-limited answers in a row. */
  rateLimited?: number;
}

const SOON_MS = 30_000;
const ENTITLEMENT_MS = 2 * 60_000;
/** What only other input, or another coderd, can mend. */
const SELDOM_MS = 10 * 60_000;

const delays: Readonly<Record<Exclude<CoderFailure["kind"], "rateLimited">, number>> = {
  transient: SOON_MS,
  forbidden: SOON_MS,
  duplicate: SOON_MS,
  notFound: SOON_MS,
  notEntitled: ENTITLEMENT_MS,
  invalid: SELDOM_MS,
  unsupported: SELDOM_MS,
};

/** How long coderd is left alone after a failure, unless something changes: calm, and calmer when it asks for it. */
export function retryDelay(failure: CoderFailure, memory: RateLimitMemory, random: Random): number {
  if (failure.kind !== "rateLimited") {
    delete memory.rateLimited;
    return delays[failure.kind];
  }
  const attempt = memory.rateLimited ?? 0;
  memory.rateLimited = attempt + 1;
  return rateLimitDelay(attempt, failure.retryAfterMs, random);
}
