import { Backoff, type BackoffRule, backoff, type Random } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import { rateLimitDelay } from "../../coder/rate-limit.ts";

const RETRY_MS = 30_000;
const ENTITLEMENT_RETRY_MS = 2 * 60_000;
/** For failures that only different input, or a different coderd, can resolve. */
const PERMANENT_RETRY_MS = 10 * 60_000;

const delays: Readonly<Record<Exclude<CoderFailure["kind"], "rateLimited">, number>> = {
  transient: RETRY_MS,
  forbidden: RETRY_MS,
  duplicate: RETRY_MS,
  notFound: RETRY_MS,
  notEntitled: ENTITLEMENT_RETRY_MS,
  invalid: PERMANENT_RETRY_MS,
  unsupported: PERMANENT_RETRY_MS,
};

/**
 * Back-off for coderd by kind of failure. After a rate limit, waits longer each time, regardless of other
 * changes.
 */
export function coderdBackoff<F extends CoderFailure>(random: Random): Backoff<F> {
  return new Backoff((failure, inARow) => delayAfter(failure, inARow, random));
}

/** Maximum delay for requests that are expensive for coderd. */
const MAX_FAST_RETRY_MS = 5 * 60_000;

/** Back-off for requests that are expensive for coderd, up to five minutes. */
export function slowBackoff<F extends CoderFailure>(random: Random): Backoff<F> {
  return new Backoff((failure, inARow) => {
    const rule = delayAfter(failure, inARow, random);
    if (failure.kind !== "transient") return rule;
    return { ...rule, ms: backoff({ baseMs: rule.ms, capMs: MAX_FAST_RETRY_MS }, inARow + 1) };
  });
}

function delayAfter(failure: CoderFailure, inARow: number, random: Random): BackoffRule {
  return failure.kind === "rateLimited"
    ? { ms: rateLimitDelay(inARow, failure.retryAfterMs, random), endsOnChange: false }
    : { ms: delays[failure.kind], endsOnChange: true };
}
