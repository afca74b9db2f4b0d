import { OperatorMetrics } from "../../src/operator/metrics/metrics.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { QueueObserver } from "../../src/runtime/queue/work-queue.ts";

/** Metrics that also tell tests how many runs there were, and with what errors, nothing taken out of them. */
export class Witness extends OperatorMetrics {
  /** Runs that have ended. */
  runs = 0;
  /** Runs under way. */
  running = 0;
  readonly errors: unknown[] = [];

  constructor() {
    super({ clock: systemClock });
  }

  override queue(controller: string): QueueObserver {
    const metrics = super.queue(controller);
    return {
      ...metrics,
      started: (waitedMs) => {
        this.running++;
        metrics.started(waitedMs);
      },
      finished: (workedMs) => {
        this.running--;
        metrics.finished(workedMs);
      },
    };
  }

  override reconciled(...[controller, outcome]: Parameters<OperatorMetrics["reconciled"]>): void {
    this.runs++;
    if ("error" in outcome) this.errors.push(outcome.error);
    super.reconciled(controller, outcome);
  }
}
