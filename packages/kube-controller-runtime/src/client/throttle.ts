import { backoff } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { ApiError, MAX_RETRY_AFTER_MS } from "./error.ts";

/** A server that asks for no time at all still gets this much. */
const MIN_PAUSE_MS = 100;

export interface Waiting {
  /** What waits, for the error when that takes too long. */
  readonly what: string;
  /** The monotonic time by which it must be over. */
  readonly until: number;
  readonly signal: AbortSignal;
}

/**
 * The gate that all requests of a client pass. A server that is overloaded or about to end says so to one of them,
 * by a 429 or 503 with `Retry-After`; then all wait as long as it asked for, and twice as long each time that it
 * goes on asking.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #longestPauseMs: number;
  #closedUntil = 0;
  #closures = 0;

  constructor(clock: Clock, longestPauseMs = MAX_RETRY_AFTER_MS) {
    this.#clock = clock;
    this.#longestPauseMs = longestPauseMs;
  }

  /** Resolves when a request may be sent; rejects at once when that would be too late for it. */
  async pass({ what, until, signal }: Waiting): Promise<void> {
    for (let pauseMs = this.#pauseMs(); pauseMs > 0; pauseMs = this.#pauseMs()) {
      if (!this.opensBefore(until))
        throw new ApiError(`${what}: not sent, because the API server asked for a pause`, {
          reason: "TooManyRequests",
          code: 0,
          retryAfter: pauseMs,
        });
      await this.#clock.sleep(pauseMs, signal);
    }
  }

  /** Closes the gate when this failure asks for it, and says whether it did: then nothing was done. */
  isAskedFor(error: unknown): boolean {
    if (!(error instanceof ApiError) || error.retryAfter === undefined) return false;
    if (error.code !== 429 && error.code !== 503) return false;
    // What was sent together is refused together: that is one closure.
    if (this.#pauseMs() <= 0) this.#closures++;
    const baseMs = Math.max(error.retryAfter, MIN_PAUSE_MS);
    const pauseMs = backoff({ baseMs, capMs: this.#longestPauseMs }, this.#closures);
    this.#closedUntil = Math.max(this.#closedUntil, this.#clock.monotonic() + pauseMs);
    return true;
  }

  /** The server has done what a request asked for. */
  succeeded(): void {
    this.#closures = 0;
  }

  opensBefore(until: number): boolean {
    return this.#closedUntil < until;
  }

  #pauseMs(): number {
    return this.#closedUntil - this.#clock.monotonic();
  }
}
