import type { CoderFailure } from "../../coder/failure.ts";
import { rateLimitDelay } from "../../coder/rate-limit.ts";
import type { Random } from "../../runtime/clock.ts";
import type { StepResult } from "../../runtime/controller/steps.ts";

/** What may pass by itself is tried again this often. */
const RETRY_MS = 30_000;
/** What only a person can mend is tried this often, in case nobody tells us that it was. */
const REFUSED_RETRY_MS = 10 * 60_000;

interface Setback {
  readonly inputs: string;
  readonly until: number;
  readonly whatever: boolean;
  readonly result: StepResult<object, never>;
}

export interface FailedAttempt {
  /** What the attempt depended on: a change of it is reason enough to try at once. */
  readonly inputs: string;
  readonly now: number;
  readonly random: Random;
  /** What the step says about it until the next attempt. */
  readonly result: StepResult<object, never>;
}

/**
 * Remembers that coderd failed, so that runs in between do not ask again: each kind of failure has its pause.
 * A rate limit is waited out whatever changes, longer each time.
 */
export class Patience {
  #setback: Setback | undefined;
  #limited = 0;

  /** What was said last time, while it is too early to try again. */
  recall(inputs: string, now: number): StepResult<object, never> | undefined {
    const setback = this.#setback;
    if (!setback || now >= setback.until) return undefined;
    if (setback.inputs !== inputs && !setback.whatever) return undefined;
    return { ...setback.result, requeueAfterMs: setback.until - now };
  }

  /** Gives back the result with the time of the next attempt. */
  failed(failure: CoderFailure, { inputs, now, random, result }: FailedAttempt): StepResult<object, never> {
    const whatever = failure.kind === "rateLimited";
    this.#limited = whatever ? this.#limited + 1 : 0;
    const waitMs =
      failure.kind === "rateLimited"
        ? rateLimitDelay(this.#limited - 1, failure.retryAfterMs, random)
        : pauseAfter(failure);
    this.#setback = { inputs, until: now + waitMs, whatever, result };
    return { ...result, requeueAfterMs: waitMs };
  }

  succeeded(): void {
    this.#setback = undefined;
    this.#limited = 0;
  }
}

function pauseAfter({ kind }: CoderFailure): number {
  return kind === "unsupported" || kind === "invalid" ? REFUSED_RETRY_MS : RETRY_MS;
}
