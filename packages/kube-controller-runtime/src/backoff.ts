import type { Random } from "./clock.ts";

export interface BackoffPolicy {
  /** Maximum delay after the first failure. */
  readonly baseMs: number;
  /** Maximum delay. */
  readonly capMs: number;
}

/**
 * The delay in whole milliseconds after failure number `attempt` in a row (the first is 1): half of a delay
 * that doubles from `baseMs` up to `capMs`, plus a random part of the other half. The first half prevents a
 * hot loop; the second spreads callers that failed together.
 */
export function backoff({ baseMs, capMs }: BackoffPolicy, attempt: number, random: Random = () => 1): number {
  const longest = Math.min(capMs, baseMs * 2 ** (attempt - 1));
  return Math.round((longest / 2) * (1 + random()));
}
