import { backoff } from "kube-controller-runtime";
import type { Decision } from "./decide.ts";
import { isStuck } from "./pool.ts";

const MOVING_MS = 5_000;
const SLOWEST_MS = 120_000;
/** coderd spends no more than a twentieth of its time on our looks, however slow it is. */
export const REST_PER_LOOK = 20;

/** Whether numbers are about to change, so that the next look should come soon. */
export function isMoving(decisions: readonly Decision[], now: number): boolean {
  return decisions.some(({ pool, replicas, census }) => {
    if (replicas !== pool.replicas) return true;
    const awaited = (census?.starting ?? 0) + (census?.waiting ?? 0);
    return awaited > 0 && !isStuck(pool, now);
  });
}

/** How long to wait after a look that showed the queue. */
export function pauseAfterLook(look: {
  readonly pollMs: number;
  readonly isMoving: boolean;
  readonly tookMs: number;
}): number {
  const pause = look.isMoving ? Math.min(MOVING_MS, look.pollMs) : look.pollMs;
  return Math.min(Math.max(pause, look.tookMs * REST_PER_LOOK), Math.max(SLOWEST_MS, look.pollMs));
}

/** How long to wait after a look in vain: doubling from one to the next, and as long as coderd asks for. */
export function pauseAfterFailure(failure: {
  readonly pollMs: number;
  /** How many looks in a row were in vain, this one included. */
  readonly failures: number;
  readonly retryAfterMs: number | undefined;
}): number {
  const policy = { baseMs: failure.pollMs, capMs: Math.max(SLOWEST_MS, failure.pollMs) };
  return Math.max(backoff(policy, failure.failures), failure.retryAfterMs ?? 0);
}
