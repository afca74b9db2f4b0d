import { ApiError, MOST_RETRY_AFTER_MS } from "../client/error.ts";
import { TerminalError } from "../errors.ts";

/** What to wait when a server says "too many requests" but not for how long. */
const THROTTLED_WAIT_MS = 1_000;

/**
 * Whether retrying can't help: the error is a `TerminalError` or was caused by one. Of several errors
 * thrown together, all must be terminal.
 */
export function isTerminal(error: unknown): boolean {
  if (error instanceof TerminalError) return true;
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isTerminal);
  return error instanceof Error && error.cause !== undefined && isTerminal(error.cause);
}

/**
 * The longest wait, in milliseconds, that anything in the error's tree of causes asks for by its
 * `retryAfter`, a minute at most; 0 when nothing does. Errors of other servers are honoured as `ApiError` is.
 */
export function retryAfterOf(error: unknown): number {
  if (!(error instanceof Error)) return 0;
  const causes: unknown[] = error instanceof AggregateError ? [...error.errors, error.cause] : [error.cause];
  return Math.min(MOST_RETRY_AFTER_MS, Math.max(ownRetryAfter(error), ...causes.map(retryAfterOf)));
}

function ownRetryAfter(error: Error & { readonly retryAfter?: unknown }): number {
  if (typeof error.retryAfter === "number" && Number.isFinite(error.retryAfter)) return error.retryAfter;
  return error instanceof ApiError && error.reason === "TooManyRequests" ? THROTTLED_WAIT_MS : 0;
}
