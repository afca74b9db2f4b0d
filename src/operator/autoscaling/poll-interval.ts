import { backoff } from "kube-controller-runtime";
import type { Decision } from "./decide.ts";
import { isUnschedulable } from "./pool.ts";

const MOVING_MS = 5_000;
const SLOWEST_MS = 120_000;
/** Limits the time that coderd spends on polls to a twentieth, however slow it is. */
export const REST_PER_POLL = 20;

/** Whether the numbers are about to change, so that the next poll should be soon. */
export function isMoving(decisions: readonly Decision[], now: number): boolean {
  return decisions.some(({ pool, replicas, census }) => {
    if (replicas !== pool.replicas) return true;
    const awaited = (census?.starting ?? 0) + (census?.waiting ?? 0);
    return awaited > 0 && !isUnschedulable(pool, now);
  });
}

/** Delay after a successful poll. */
export function pauseAfterPoll(look: {
  readonly pollMs: number;
  readonly isMoving: boolean;
  readonly tookMs: number;
}): number {
  const pause = look.isMoving ? Math.min(MOVING_MS, look.pollMs) : look.pollMs;
  return Math.min(Math.max(pause, look.tookMs * REST_PER_POLL), Math.max(SLOWEST_MS, look.pollMs));
}

/** Delay after a failed poll. Doubles with each failure, and is at least as long as coderd requests. */
export function pauseAfterFailure(failure: {
  readonly pollMs: number;
  /** Number of consecutive failures, including this one. */
  readonly failures: number;
  readonly retryAfterMs: number | undefined;
}): number {
  const policy = { baseMs: failure.pollMs, capMs: Math.max(SLOWEST_MS, failure.pollMs) };
  return Math.max(backoff(policy, failure.failures), failure.retryAfterMs ?? 0);
}
