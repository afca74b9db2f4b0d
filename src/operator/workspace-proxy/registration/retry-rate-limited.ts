import type { Clock, Random } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import { rateLimitDelay } from "../../../coder/rate-limit.ts";

/** How often a busy coderd is asked, and the longest wait in between. */
const MOST_TRIES = 3;
const LONGEST_WAIT_MS = 10_000;

/** For what can't wait for another run: repeats a call while coderd limits requests, a few times and not for long. */
export async function retryRateLimited<T>(
  call: () => Promise<T>,
  failureOf: (outcome: T) => CoderFailure | undefined,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    const outcome = await call();
    const failure = failureOf(outcome);
    if (failure?.kind !== "rateLimited" || attempt + 1 >= MOST_TRIES) return outcome;
    const waitMs = rateLimitDelay(attempt, failure.retryAfterMs, random);
    if (waitMs > LONGEST_WAIT_MS) return outcome;
    await clock.sleep(waitMs);
  }
}
