import { NotLeaderError } from "./errors.ts";

/**
 * Guards everything that this process can change: Kubernetes, and other systems that a controller accesses.
 * Each request is checked when it is sent, because it may have waited for a connection.
 */
export interface Fence {
  /** Aborted permanently when leadership is lost or released. Requests in progress must be aborted then. */
  readonly signal: AbortSignal;
  /** Throws `NotLeaderError` unless this process is the only leader now. */
  assertLeading(): void;
}

/** The same fence for one run, which also closes at the run's deadline. */
export function closedBy(deadline: AbortSignal, fence: Fence): Fence {
  return {
    signal: AbortSignal.any([fence.signal, deadline]),
    assertLeading: () => {
      fence.assertLeading();
      deadline.throwIfAborted();
    },
  };
}

/** The fence of a process. It admits nothing before it is opened, and nothing after it is closed. */
export class LeaderFence implements Fence {
  readonly #closed = new AbortController();
  readonly signal: AbortSignal = this.#closed.signal;
  #isLeader: (() => boolean) | undefined;

  /** The first call after leadership is lost closes the fence. */
  assertLeading(): void {
    if (this.#isLeader && !this.#isLeader()) this.close(new NotLeaderError("this process lost leadership"));
    this.signal.throwIfAborted();
    if (!this.#isLeader) throw new NotLeaderError("this process is not the leader yet");
  }

  /** Admits requests while `isLeader` returns true. */
  open(isLeader: () => boolean): void {
    this.#isLeader = isLeader;
  }

  close(reason: NotLeaderError): void {
    this.#closed.abort(reason);
  }
}
