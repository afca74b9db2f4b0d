/** Jobs that wait, as metrics show them. */
interface Pending {
  readonly pending: number;
  /** When the oldest of them was made. */
  readonly oldestAt: number | undefined;
}

/** What a pool does and needs. */
export interface PoolNumbers extends Pending {
  /** What the queue alone asks for, before minimum and maximum. */
  readonly wanted: number;
  readonly busy: number;
  readonly idle: number;
  readonly starting: number;
  readonly draining: number;
}

/** Everything that waits, whether a pool offers its tags or not. */
export interface QueueTotals extends Pending {
  /** Jobs with tags that no pool offers. */
  readonly unmatched: number;
}

/** What is known of the queues of a control plane. */
export interface QueueNumbers {
  /** Unknown while one of the queues is. */
  readonly totals: QueueTotals | undefined;
  /** By name; without those of which nothing is known. */
  readonly pools: ReadonlyMap<string, PoolNumbers>;
}
