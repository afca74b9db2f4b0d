import { ApiError, MAX_RETRY_AFTER_MS } from "../client/error.ts";
import type { Clock } from "../clock.ts";
import { TerminalError } from "../errors.ts";
import type { Action } from "./action.ts";
import type { WorkQueue } from "./work-queue.ts";

/** The result of a run and how the worker handled it. */
export type Outcome =
  | { readonly result: "success" }
  | { readonly result: "requeue"; readonly afterMs: number }
  | {
      readonly result: "error";
      readonly error: unknown;
      readonly retryInMs: number;
      readonly failures: number;
    }
  | { readonly result: "terminal"; readonly error: unknown };

export interface WorkerOptions {
  readonly clock: Clock;
  readonly concurrency: number;
  /** Once aborted, no further key is started; active runs finish. */
  readonly signal: AbortSignal;
  readonly work: (key: string) => Promise<Action>;
  /** Called after every run, for logs and metrics; must not throw. */
  readonly onOutcome?: (key: string, outcome: Outcome & { readonly durationMs: number }) => void;
}

/** Minimum delay for runs that request the next one immediately, to prevent a hot loop. */
const MIN_REQUEUE_MS = 10;

/**
 * Runs keys of `queue`, at most `concurrency` at a time, until the signal is aborted; resolves when the last
 * run has ended. Only this function decides whether and when a run is repeated:
 * - an action is followed exactly, except for a minimum delay;
 * - an error is retried with the key's backoff, after the server's `retryAfter`;
 * - a `TerminalError` is not retried: the key waits until it is added again.
 */
export async function runWorkers(queue: WorkQueue, options: WorkerOptions): Promise<void> {
  const stop = () => queue.close();
  if (options.signal.aborted) stop();
  options.signal.addEventListener("abort", stop, { once: true });
  await Promise.all(Array.from({ length: options.concurrency }, () => runWorker(queue, options)));
}

async function runWorker(queue: WorkQueue, options: WorkerOptions): Promise<void> {
  for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
    const startedAt = options.clock.monotonic();
    const outcome = await runOnce(queue, key, options.work);
    options.onOutcome?.(key, { ...outcome, durationMs: options.clock.monotonic() - startedAt });
  }
}

async function runOnce(queue: WorkQueue, key: string, work: WorkerOptions["work"]): Promise<Outcome> {
  try {
    const action = await work(key);
    if (action.kind === "requeue") {
      const afterMs = Math.max(action.afterMs, MIN_REQUEUE_MS);
      queue.succeed(key, afterMs);
      return { result: "requeue", afterMs };
    }
  } catch (error) {
    if (!isTerminal(error)) return { result: "error", error, ...queue.fail(key, retryAfterOf(error)) };
    queue.succeed(key);
    return { result: "terminal", error };
  }
  queue.succeed(key);
  return { result: "success" };
}

/** The delay if a server responds with "too many requests" without a time. */
const THROTTLED_WAIT_MS = 1_000;

/**
 * Whether a retry can't help: the error is a `TerminalError` or was caused by one. An AggregateError is
 * terminal if all of its errors are.
 */
function isTerminal(error: unknown): boolean {
  if (error instanceof TerminalError) return true;
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isTerminal);
  return error instanceof Error && error.cause !== undefined && isTerminal(error.cause);
}

/**
 * The longest `retryAfter` in the error and its causes, in milliseconds, at most a minute; 0 if there is
 * none. Errors of other servers are treated like `ApiError`.
 */
function retryAfterOf(error: unknown): number {
  if (!(error instanceof Error)) return 0;
  const causes: unknown[] = error instanceof AggregateError ? [...error.errors, error.cause] : [error.cause];
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(ownRetryAfter(error), ...causes.map(retryAfterOf)));
}

function ownRetryAfter(error: Error & { readonly retryAfter?: unknown }): number {
  if (typeof error.retryAfter === "number" && Number.isFinite(error.retryAfter)) return error.retryAfter;
  return error instanceof ApiError && error.reason === "TooManyRequests" ? THROTTLED_WAIT_MS : 0;
}
