import { NotLeaderError } from "./errors.ts";

/**
 * What stands between this process and everything that it could change: Kubernetes, and everything else that a
 * controller reaches. Each way out asks at the moment its request leaves the process, because a request may
 * have waited long for a connection.
 */
export interface Fence {
  /** Aborted for good once leadership is lost or given up. What is under way must be cut then. */
  readonly signal: AbortSignal;
  /** Throws `NotLeaderError` unless what is sent now comes from the only leader. */
  assertLeading(): void;
}

/** The same fence for one run, which also closes when the run has had its time. */
export function closedBy(deadline: AbortSignal, fence: Fence): Fence {
  return {
    signal: AbortSignal.any([fence.signal, deadline]),
    assertLeading: () => {
      fence.assertLeading();
      deadline.throwIfAborted();
    },
  };
}

/** The fence of a process. It lets nothing pass before it is opened, and nothing ever again once it is closed. */
export class LeaderFence implements Fence {
  readonly #closed = new AbortController();
  readonly signal: AbortSignal = this.#closed.signal;
  #isLeader: (() => boolean) | undefined;

  /** The first question that finds leadership lost closes the fence: nobody need notice by other means. */
  assertLeading(): void {
    if (this.#isLeader && !this.#isLeader()) this.close(new NotLeaderError("this process no longer leads"));
    this.signal.throwIfAborted();
    if (!this.#isLeader) throw new NotLeaderError("this process does not lead yet");
  }

  /** Lets pass what comes while `isLeader` says so. */
  open(isLeader: () => boolean): void {
    this.#isLeader = isLeader;
  }

  close(reason: NotLeaderError): void {
    this.#closed.abort(reason);
  }
}
