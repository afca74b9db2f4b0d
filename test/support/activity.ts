import { OperatorMetrics } from "../../src/operator/metrics/metrics.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { QueueObserver } from "../../src/runtime/queue/work-queue.ts";

/** Knows whether any controller of an operator has something to do at this moment. */
export class Activity extends OperatorMetrics {
  #running = 0;
  readonly #depths: (() => number)[] = [];

  get idle(): boolean {
    return this.#running === 0 && this.#depths.every((depth) => depth() === 0);
  }

  constructor() {
    super({ clock: systemClock });
  }

  override queue(controller: string): QueueObserver {
    const metrics = super.queue(controller);
    return {
      depthFrom: (read) => {
        this.#depths.push(read);
        metrics.depthFrom(read);
      },
      added: () => metrics.added(),
      retried: () => metrics.retried(),
      started: (waitedMs) => {
        this.#running++;
        metrics.started(waitedMs);
      },
      finished: (workedMs) => {
        this.#running--;
        metrics.finished(workedMs);
      },
    };
  }
}
