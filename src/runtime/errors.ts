/** The message of anything that was thrown, for a log line or a condition. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Raised by a reconcile to say that retrying can't help: only a change of the object can. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Raised instead of sending a write once this process may no longer be the leader. */
export class NotLeaderError extends Error {
  override readonly name = "NotLeaderError";
}

/**
 * Hides the password of every URL in a text. Messages of the API server may quote a rejected value,
 * and a connection URL is a value people write into manifests.
 */
export function withoutPasswords(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s"']*@/gi, "$1***@");
}
