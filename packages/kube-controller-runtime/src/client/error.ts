/**
 * Why a request failed, in the API server's own words where it gave some (`NotFound`, `Conflict`,
 * `AlreadyExists`, `Expired`, `TooManyRequests`, …). `Timeout` and `Unreachable` are ours, for requests
 * that got no answer: whether they took effect is unknown. So are `InvalidResponse` and `ResponseTooLarge`.
 */
export type ApiErrorReason =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Expired"
  | "Invalid"
  | "TooManyRequests"
  | "ServiceUnavailable"
  | "InternalError"
  | "Timeout"
  | "Unreachable"
  | "InvalidResponse"
  | "ResponseTooLarge"
  | (string & {});

export interface ApiErrorDetails {
  readonly reason: ApiErrorReason;
  /** The HTTP status code; 0 when there was no answer. */
  readonly code: number;
  /** How long the server asked us to wait, in milliseconds; more than a minute counts as one. */
  readonly retryAfter?: number | undefined;
  /** Paths of the fields that the server rejects, such as `spec.containers[0].env[1].valueFrom`. */
  readonly fields?: readonly string[] | undefined;
  readonly cause?: unknown;
}

/** The longest pause, even when the server asks for more: a mistaken value must not blind the operator. */
export const MAX_RETRY_AFTER_MS = 60_000;

/** The one error of the client. Its message names the verb and the object, never their content. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly reason: ApiErrorReason;
  readonly code: number;
  readonly retryAfter: number | undefined;
  readonly fields: readonly string[];

  constructor(message: string, details: ApiErrorDetails) {
    super(message, { cause: details.cause });
    this.reason = details.reason;
    this.code = details.code;
    this.fields = details.fields ?? [];
    const { retryAfter } = details;
    this.retryAfter = retryAfter === undefined ? undefined : Math.min(retryAfter, MAX_RETRY_AFTER_MS);
  }
}

function hasReason(error: unknown, ...reasons: ApiErrorReason[]): boolean {
  return error instanceof ApiError && reasons.includes(error.reason);
}

/** There is no such object, or no such kind. */
export function isNotFound(error: unknown): boolean {
  return hasReason(error, "NotFound");
}

/** The object is not as the request took it to be: read it again. */
export function isConflict(error: unknown): boolean {
  return hasReason(error, "Conflict");
}

/** An object of that name exists. */
export function isAlreadyExists(error: unknown): boolean {
  return hasReason(error, "AlreadyExists");
}

/** The role does not allow it, or an admission policy refused it. */
export function isForbidden(error: unknown): boolean {
  return hasReason(error, "Forbidden");
}

/** Whether the same request may succeed later: no answer, credentials that are just changing, conflict, load, trouble. */
export function isTransient(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof ApiError && [401, 408, 409].includes(error.code));
}

/** Whether the server is not there, has too much to do, or is in trouble. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 0 || error.code === 429 || error.code >= 500);
}

/** The answer would have filled the memory: a list must be asked for in smaller pages. */
export function isTooLarge(error: unknown): boolean {
  return hasReason(error, "ResponseTooLarge");
}

/** The requested history is gone: a watch must list anew. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 410 || hasReason(error, "Gone", "Expired"));
}
