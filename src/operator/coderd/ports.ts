import type { ObjectKey, Random } from "kube-controller-runtime";
import type { CoderClients } from "../../coder/clients.ts";
import type { OperatorAccess } from "../../coder/operator-access/access.ts";
import type { QueueNumbers } from "../queue-metrics.ts";
import type { DaemonObserver } from "./daemons.ts";

/** External systems of the controllers: coderd's HTTP API and its database. */
export interface CoderPorts {
  readonly coderd: CoderClients;
  readonly database: OperatorAccess;
  /** Shared by all users of the list of daemons. */
  readonly daemons: DaemonObserver;
  readonly random: Random;
  /** The cluster domain, as in `coder.dev.svc.<domain>`. */
  readonly clusterDomain: string;
  /**
   * Counts tokens that a deletion left behind, because events cannot be written in a terminating namespace.
   */
  readonly tokenLeftBehind?: () => void;
  /** Receives the state of a control plane's queues after each poll, or undefined when polling ends. */
  readonly queueObserved?: (controlPlane: ObjectKey, numbers: QueueNumbers | undefined) => void;
}
