import { setTimeout as delay } from "node:timers/promises";

/** Time as the runtime sees it. Everything that waits takes one of these, so tests run in virtual time. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch: for timestamps that other people read. */
  now(): number;
  /** Milliseconds that never go backwards: for measuring durations. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`; the returned function cancels it. */
  setTimer(callback: () => void, ms: number): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
  setTimer: (callback, ms) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** A random number in [0, 1), injected wherever jitter is needed. */
export type Random = () => number;

/** The RFC 3339 form, to the second, that Kubernetes uses for `metav1.Time`. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
