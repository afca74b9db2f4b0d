/** The message of any thrown value, for a log line or a condition. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Thrown by a reconcile if a retry can't help: only a change of the object can. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Thrown by a run, and for each of its writes, after its timeout: see `RunLimits`. */
export class RunTimeoutError extends Error {
  override readonly name = "RunTimeoutError";
}

/** Thrown instead of sending a write once this process may no longer be the leader. */
export class NotLeaderError extends Error {
  override readonly name = "NotLeaderError";
}
