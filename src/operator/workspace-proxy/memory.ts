import type { Backoff, StartMemory } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import type { WorkspaceProxy } from "../../coder/model.ts";
import { coderdBackoff } from "../coderd/backoff.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import type { TokenEndMemory } from "../coderd/token-end.ts";
import type { WarningMemory } from "../workload/pods/warnings.ts";
import type { StuckMemory } from "../workload/replace-stuck.ts";
import type { ProxySession } from "./session.ts";

/** The proxy as coderd showed it. */
export interface SeenProxy {
  readonly record: WorkspaceProxy;
  readonly at: number;
  /** When it was first seen to fare as it does. */
  readonly since: number;
  /** What the answer depended on. */
  readonly inputs: string;
}

/** What the operator remembers of one workspace proxy between runs, so that most of them need not ask coderd. */
export interface Memory extends StartMemory, TokenEndMemory, WarningMemory, StuckMemory {
  seen?: SeenProxy;
  readonly registration: Backoff<CoderFailure>;
  /** The session that last worked: it may outlive its Secret when a whole namespace is deleted. */
  session?: ProxySession;
}

export function newMemory({ random }: Pick<CoderPorts, "random">): Memory {
  return { registration: coderdBackoff(random) };
}
