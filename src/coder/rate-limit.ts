import { backoff, type Random } from "kube-controller-runtime";

const POLICY = { baseMs: 2_000, capMs: 120_000 };

/**
 * Returns the delay after the `attempt`-th consecutive rate-limited response, counted from 0. It doubles from
 * 2 s to 2 min, with jitter over the upper half to spread callers, and is at least the requested delay, up to
 * 2 min.
 */
export function rateLimitDelay(attempt: number, retryAfterMs: number | undefined, random: Random): number {
  const spread = backoff(POLICY, attempt + 1, random);
  if (retryAfterMs === undefined) return spread;
  return Math.max(spread, Math.min(retryAfterMs, POLICY.capMs) + POLICY.baseMs * random());
}

/** Parses a `Retry-After` header, in seconds or as a date, into milliseconds from `now`. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
