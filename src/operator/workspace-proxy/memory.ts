import type { Backoff, StartMemory } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import type { WorkspaceProxy } from "../../coder/model.ts";
import { coderdBackoff } from "../coderd/backoff.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import type { TokenEndMemory } from "../coderd/token-end.ts";
import type { WarningMemory } from "../workload/pods/warnings.ts";
import type { FailingPodsMemory } from "../workload/replace-stuck.ts";
import type { ProxySession } from "./session.ts";

/** The proxy as reported by coderd. */
export interface ObservedProxy {
  readonly record: WorkspaceProxy;
  readonly at: number;
  /** Since when it has had its current status. */
  readonly since: number;
  /** Inputs of the request. */
  readonly inputs: string;
}

/**
 * In-memory state of one workspace proxy between reconciles, so that most reconciles send no requests to
 * coderd.
 */
export interface Memory extends StartMemory, TokenEndMemory, WarningMemory, FailingPodsMemory {
  seen?: ObservedProxy;
  readonly registration: Backoff<CoderFailure>;
  /** The last working session. It may outlive its Secret when a namespace is deleted. */
  session?: ProxySession;
}

export function newMemory({ random }: Pick<CoderPorts, "random">): Memory {
  return { registration: coderdBackoff(random) };
}
