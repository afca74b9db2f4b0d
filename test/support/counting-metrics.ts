import { type QueueObserver, systemClock } from "kube-controller-runtime";
import { OperatorMetrics } from "../../src/operator/metrics/metrics.ts";

/** Metrics that also count for tests how many runs there were, and with what errors, nothing taken out of them. */
export class CountingMetrics extends OperatorMetrics {
  /** Runs that have ended. */
  runs = 0;
  /** Runs under way. */
  running = 0;
  readonly errors: unknown[] = [];
  tokensLeftBehind = 0;
  entitiesLeftBehind = 0;
  /** By controller, so that a restarted operator replaces the previous one. */
  readonly #depths = new Map<string, () => number>();

  constructor() {
    super({ clock: systemClock });
  }

  /** Whether no run is under way and none is due. */
  get idle(): boolean {
    return this.running === 0 && [...this.#depths.values()].every((depth) => depth() === 0);
  }

  override queue(controller: string): QueueObserver {
    const metrics = super.queue(controller);
    return {
      ...metrics,
      depthFrom: (read) => {
        this.#depths.set(controller, read);
        metrics.depthFrom(read);
      },
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

  override tokenOrphaned(): void {
    this.tokensLeftBehind++;
    super.tokenOrphaned();
  }

  override entityOrphaned(): void {
    this.entitiesLeftBehind++;
    super.entityOrphaned();
  }

  override reconciled(...[controller, outcome]: Parameters<OperatorMetrics["reconciled"]>): void {
    this.runs++;
    if ("error" in outcome) this.errors.push(outcome.error);
    super.reconciled(controller, outcome);
  }
}
