import { backoff } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { ApiError, MAX_RETRY_AFTER_MS } from "./error.ts";

/** Minimum pause if the server does not specify one. */
const MIN_PAUSE_MS = 100;

export interface Waiting {
  /** The waiting request, for the error on timeout. */
  readonly what: string;
  /** The deadline in monotonic time. */
  readonly until: number;
  readonly signal: AbortSignal;
}

/**
 * A gate that all requests of a client pass. If a server that is overloaded or shutting down responds with
 * 429 or 503 and `Retry-After`, all requests wait for the requested time, which doubles with each further
 * such response.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #maxPauseMs: number;
  #closedUntil = 0;
  #closures = 0;

  constructor(clock: Clock, maxPauseMs = MAX_RETRY_AFTER_MS) {
    this.#clock = clock;
    this.#maxPauseMs = maxPauseMs;
  }

  /** Resolves when a request may be sent; rejects immediately if that would be after its deadline. */
  async pass({ what, until, signal }: Waiting): Promise<void> {
    for (let pauseMs = this.#pauseMs(); pauseMs > 0; pauseMs = this.#pauseMs()) {
      if (!this.opensBefore(until))
        throw new ApiError(`${what}: not sent, because the API server requested a pause`, {
          reason: "TooManyRequests",
          code: 0,
          retryAfter: pauseMs,
        });
      await this.#clock.sleep(pauseMs, signal);
    }
  }

  /**
   * Closes the gate if this failure asks for a pause, and returns whether it did: the request was not
   * executed.
   */
  isAskedFor(error: unknown): boolean {
    if (!(error instanceof ApiError) || error.retryAfter === undefined) return false;
    if (error.code !== 429 && error.code !== 503) return false;
    // Requests that were sent together fail together: count them once.
    if (this.#pauseMs() <= 0) this.#closures++;
    const baseMs = Math.max(error.retryAfter, MIN_PAUSE_MS);
    const pauseMs = backoff({ baseMs, capMs: this.#maxPauseMs }, this.#closures);
    this.#closedUntil = Math.max(this.#closedUntil, this.#clock.monotonic() + pauseMs);
    return true;
  }

  /** Called after a request has succeeded. */
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
