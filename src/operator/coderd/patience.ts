import type { Random, StepResult } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import { type RateLimitMemory, retryDelay } from "./retry.ts";

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
  #rateLimits: RateLimitMemory = {};

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
    const waitMs = retryDelay(failure, this.#rateLimits, random);
    this.#setback = { inputs, until: now + waitMs, whatever, result };
    return { ...result, requeueAfterMs: waitMs };
  }

  succeeded(): void {
    this.#setback = undefined;
    this.#rateLimits = {};
  }
}
