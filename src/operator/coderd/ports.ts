import type { ObjectKey, Random } from "kube-controller-runtime";
import type { CoderClients } from "../../coder/clients.ts";
import type { OperatorAccess } from "../../coder/operator-access/access.ts";
import type { SharedAnswers } from "./shared-answers.ts";

/** External systems of the controllers: coderd's HTTP API and its database. */
export interface CoderPorts {
  readonly coderd: CoderClients;
  readonly database: OperatorAccess;
  /** Responses of coderd that many objects need. */
  readonly answers: SharedAnswers;
  readonly random: Random;
  /** The cluster domain, as in `coder.dev.svc.<domain>`. */
  readonly clusterDomain: string;
  /**
   * Counts tokens that a deletion left behind, because events cannot be written in a terminating namespace.
   */
  readonly tokenOrphaned?: () => void;
  /** Counts entities that stay in coderd although their objects were deleted. */
  readonly entityOrphaned?: () => void;
  /** Receives the state of a control plane's queues after each poll, or undefined when polling ends. */
  readonly queueObserved?: (controlPlane: ObjectKey, numbers: QueueNumbers | undefined) => void;
}

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
