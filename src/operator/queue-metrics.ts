/** Waiting jobs for metrics. */
interface Pending {
  readonly pending: number;
  /** Creation time of the oldest job. */
  readonly oldestAt: number | undefined;
}

/** State of a pool. */
export interface PoolNumbers extends Pending {
  /** Number of daemons that the queue requires, before limits are applied. */
  readonly wanted: number;
  readonly busy: number;
  readonly idle: number;
  readonly starting: number;
  readonly draining: number;
}

/** All waiting jobs, including those that match no pool. */
export interface QueueTotals extends Pending {
  /** Jobs whose tags no pool has. */
  readonly unmatched: number;
}

/** State of the queues of a control plane. */
export interface QueueNumbers {
  /** Undefined if the state of any queue is unknown. */
  readonly totals: QueueTotals | undefined;
  /** By name, without pools in an unknown state. */
  readonly pools: ReadonlyMap<string, PoolNumbers>;
}
