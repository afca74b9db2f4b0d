import type { Clock } from "../src/clock.ts";
import { sleepOn } from "./sleep.ts";

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * A clock that only moves when a test moves it. `advance` fires timers in the order they are due and lets
 * pending promises settle in between, so a test observes the same as in real time.
 */
export class VirtualClock implements Clock {
  #now: number;
  #order = 0;
  #steps: Promise<void> = Promise.resolve();
  readonly #start: number;
  readonly #timers = new Set<Timer>();

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
    this.#start = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  setTimer(callback: () => void, ms: number): () => void {
    const timer: Timer = { due: this.#now + Math.max(0, ms), order: this.#order++, fire: callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** The number of active timers: zero means that nothing will happen by itself. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves ahead by `ms` at once, as after a suspend: due timers fire late, in order. */
  jump(ms: number): void {
    this.#now += ms;
    for (let next = this.#nextDue(this.#now); next; next = this.#nextDue(this.#now)) {
      this.#timers.delete(next);
      next.fire();
    }
  }

  /** Moves to the next due timer, but not past `until`, and lets promises settle. */
  step(until: number): Promise<void> {
    // One step at a time, even with several callers: a step completes before the next.
    this.#steps = this.#steps.then(async () => {
      const next = this.#nextDue(until);
      await this.advance(Math.max(0, (next?.due ?? until) - this.#now));
    });
    return this.#steps;
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#nextDue(until); next; next = this.#nextDue(until)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.due);
      next.fire();
      await settle();
    }
    this.#now = until;
  }

  #nextDue(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due > until) continue;
      if (!first || timer.due < first.due || (timer.due === first.due && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}

/** Waits for promises and immediates that are already pending. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve));
}
