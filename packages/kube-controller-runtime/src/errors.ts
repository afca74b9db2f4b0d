/** The message of anything that was thrown, for a log line or a condition. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Raised by a reconcile to say that retrying can't help: only a change of the object can. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Raised by a run, and instead of sending a write of it, when the run has had its time: see `RunLimits`. */
export class RunTimeoutError extends Error {
  override readonly name = "RunTimeoutError";
}

/** Raised instead of sending a write once this process may no longer be the leader. */
export class NotLeaderError extends Error {
  override readonly name = "NotLeaderError";
}
