/**
 * Why a request failed: the API server's own reason if it gave one (`NotFound`, `Conflict`, `AlreadyExists`,
 * `Expired`, `TooManyRequests`, …), or one of the client's reasons. `Timeout` and `Unreachable` mean that
 * there was no response, so it is unknown whether the request took effect. `InvalidResponse` and
 * `ResponseTooLarge` are the others.
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
  /** The HTTP status code; 0 if there was no response. */
  readonly code: number;
  /** The wait that the server asked for, in milliseconds; limited to a minute. */
  readonly retryAfter?: number | undefined;
  /** Paths of the rejected fields, such as `spec.containers[0].env[1].valueFrom`. */
  readonly fields?: readonly string[] | undefined;
  readonly cause?: unknown;
}

/** Maximum pause, even if the server asks for more: a wrong value must not stop the operator for long. */
export const MAX_RETRY_AFTER_MS = 60_000;

/** The error of the client. Its message names the verb and the object, never their content. */
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

/** The object or the kind does not exist. */
export function isNotFound(error: unknown): boolean {
  return hasReason(error, "NotFound");
}

/** The object has changed since it was read. */
export function isConflict(error: unknown): boolean {
  return hasReason(error, "Conflict");
}

/** An object with that name exists. */
export function isAlreadyExists(error: unknown): boolean {
  return hasReason(error, "AlreadyExists");
}

/** The role does not allow the request, or an admission policy rejected it. */
export function isForbidden(error: unknown): boolean {
  return hasReason(error, "Forbidden");
}

/**
 * Whether the same request may succeed later: no response, credentials being rotated, conflict, load, server
 * errors.
 */
export function isTransient(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof ApiError && [401, 408, 409].includes(error.code));
}

/** Whether the server is unreachable, overloaded, or failing. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 0 || error.code === 429 || error.code >= 500);
}

/** The response exceeds the memory limit: request a list in smaller pages. */
export function isTooLarge(error: unknown): boolean {
  return hasReason(error, "ResponseTooLarge");
}

/** The requested history is no longer available: a watch must relist. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 410 || hasReason(error, "Gone", "Expired"));
}
