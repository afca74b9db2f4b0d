import { type Clock, systemClock } from "kube-controller-runtime";
import { sleepOn } from "kube-controller-runtime/testing";

interface Timer {
  readonly due: number;
  readonly fire: () => void;
  /** Cancels the wait in real time. */
  cancel: () => void;
}

/**
 * Real time that can be made to jump ahead: for tests with real servers, which can't do with a clock that stands
 * still. A jump fires what has become due, in the order in which it was due.
 */
export class SkewedClock implements Clock {
  #skew = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return systemClock.now() + this.#skew;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#skew;
  }

  setTimer(callback: () => void, ms: number): () => void {
    const timer: Timer = { due: this.monotonic() + ms, fire: callback, cancel: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => this.#remove(timer);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** Moves ahead by `ms` at once. */
  jump(ms: number): void {
    this.#skew += ms;
    const now = this.monotonic();
    const timers = [...this.#timers].sort((a, b) => a.due - b.due);
    for (const timer of timers) {
      if (timer.due > now) this.#arm(timer);
      else if (this.#remove(timer)) timer.fire();
    }
  }

  #arm(timer: Timer): void {
    timer.cancel();
    const fire = () => {
      if (this.#remove(timer)) timer.fire();
    };
    timer.cancel = systemClock.setTimer(fire, Math.max(0, timer.due - this.monotonic()));
  }

  #remove(timer: Timer): boolean {
    timer.cancel();
    return this.#timers.delete(timer);
  }
}
