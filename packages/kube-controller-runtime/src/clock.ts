import { setTimeout as delay } from "node:timers/promises";

/** Time as the runtime sees it. Everything that waits takes one of these, so tests run in virtual time. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch: for timestamps that other people read. */
  now(): number;
  /** Milliseconds that never go backwards: for measuring durations. */
  monotonic(): number;
  /** Resolves after `ms`, or after 24 days if that is sooner; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`, or after 24 days if that is sooner; the returned function cancels it. */
  setTimer(callback: () => void, ms: number): () => void;
}

/** A longer time makes timers of the platform fire at once: a wait for a month would be a hot loop. */
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

/** The RFC 3339 form, to the second, that Kubernetes uses for `metav1.Time`. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
