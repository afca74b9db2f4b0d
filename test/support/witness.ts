import { RuntimeMetrics } from "../../src/runtime/metrics.ts";
import type { QueueObserver } from "../../src/runtime/queue/work-queue.ts";

/** Metrics that also tell tests how many runs there were, and with what errors, nothing taken out of them. */
export class Witness extends RuntimeMetrics {
  /** Runs that have ended. */
  runs = 0;
  /** Runs under way. */
  running = 0;
  readonly errors: unknown[] = [];

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

  override reconciled(...[controller, outcome]: Parameters<RuntimeMetrics["reconciled"]>): void {
    this.runs++;
    if ("error" in outcome) this.errors.push(outcome.error);
    super.reconciled(controller, outcome);
  }
}
