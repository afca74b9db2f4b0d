import type { Random } from "../clock.ts";

export interface BackoffPolicy {
  /** The longest wait after a first failure. */
  readonly baseMs: number;
  /** The longest wait ever. */
  readonly capMs: number;
}

/**
 * How long to wait after failure number `attempt` in a row (the first is 1): doubles from `baseMs` up to
 * `capMs`, then keeps a random half of it. The half that is always waited rules out a hot loop; the random
 * half spreads callers that failed together.
 */
export function backoff(policy: BackoffPolicy, attempt: number, random: Random): number {
  const longest = Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1));
  return (longest / 2) * (1 + random());
}
