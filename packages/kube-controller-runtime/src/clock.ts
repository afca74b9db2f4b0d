import { setTimeout as delay } from "node:timers/promises";

/** The source of time. Everything that waits uses a clock, so tests run in virtual time. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch, for timestamps that others read. */
  now(): number;
  /** Monotonic milliseconds, for measuring durations. */
  monotonic(): number;
  /** Resolves after `ms`, limited to 24 days; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`, limited to 24 days; the returned function cancels it. */
  setTimer(callback: () => void, ms: number): () => void;
}

/** Timers of the platform fire immediately for longer times, which would cause a hot loop. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Real time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(Math.min(ms, MAX_TIMER_MS), undefined, signal ? { signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
  setTimer: (callback, ms) => {
    const timer = setTimeout(callback, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** A random number in [0, 1), injected wherever jitter is needed. */
export type Random = () => number;

/** The RFC 3339 format, in seconds, that Kubernetes uses for `metav1.Time`. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
