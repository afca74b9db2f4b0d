import type { Random } from "./clock.ts";

export interface BackoffPolicy {
  /** The longest wait after a first failure. */
  readonly baseMs: number;
  /** The longest wait ever. */
  readonly capMs: number;
}

/**
 * The whole milliseconds to wait after failure number `attempt` in a row (the first is 1): half of a delay
 * that doubles from `baseMs` up to `capMs`, plus a random part of the other half. The first half rules out
 * a hot loop; the second spreads callers that failed together. Without `random` it is the whole delay, for a
 * caller that has no others to stay clear of.
 */
export function backoff({ baseMs, capMs }: BackoffPolicy, attempt: number, random: Random = () => 1): number {
  const longest = Math.min(capMs, baseMs * 2 ** (attempt - 1));
  return Math.round((longest / 2) * (1 + random()));
}
