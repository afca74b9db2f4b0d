import { backoff, type Random } from "kube-controller-runtime";

const POLICY = { baseMs: 2_000, capMs: 120_000 };

/**
 * How long to wait after the `attempt`-th rate-limited answer in a row (counted from 0): 2 s doubling to
 * 2 min, spread over the upper half of that so that many callers do not return together, and never less
 * than coderd asked for, up to those 2 min.
 */
export function rateLimitDelay(attempt: number, retryAfterMs: number | undefined, random: Random): number {
  const spread = backoff(POLICY, attempt + 1, random);
  if (retryAfterMs === undefined) return spread;
  return Math.max(spread, Math.min(retryAfterMs, POLICY.capMs) + POLICY.baseMs * random());
}

/** Reads a `Retry-After` header, seconds or a date, as milliseconds from `now`. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
