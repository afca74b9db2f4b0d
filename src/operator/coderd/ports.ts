import type { ObjectKey, Random } from "kube-controller-runtime";
import type { CoderClients } from "../../coder/clients.ts";
import type { OperatorAccess } from "../../coder/operator-access/access.ts";
import type { QueueNumbers } from "../queue-metrics.ts";
import type { DaemonObserver } from "./daemons.ts";

/** The ways out of the cluster's API that controllers have: coderd's HTTP API and its database. */
export interface CoderPorts {
  readonly coderd: CoderClients;
  readonly database: OperatorAccess;
  /** Shared by all that need to know which daemons coderd has. */
  readonly daemons: DaemonObserver;
  readonly random: Random;
  /** The domain of the cluster's Services, as in `coder.dev.svc.<domain>`. */
  readonly clusterDomain: string;
  /** Counts what a deletion had to leave behind: events can't be written in a namespace that ends. */
  readonly tokenLeftBehind?: () => void;
  /** Receives the numbers of a control plane's queues after each look; undefined when nobody looks any more. */
  readonly queueObserved?: (controlPlane: ObjectKey, numbers: QueueNumbers | undefined) => void;
}
