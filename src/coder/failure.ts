/**
 * Why a request to coderd failed. Every `message` is safe for conditions, events and logs: it contains the
 * request and the response, but never a token, key, JWT or body.
 */
export type CoderFailure =
  /** This coderd does not have the route: it is an open-source build or too old. */
  | { readonly kind: "unsupported"; readonly message: string }
  /** coderd rejects the token, or the token lacks the permission. */
  | {
      readonly kind: "forbidden";
      readonly why: "unauthenticated" | "notPermitted";
      readonly message: string;
    }
  /** The license does not include the feature. */
  | { readonly kind: "notEntitled"; readonly message: string }
  /** Too many requests. `retryAfterMs` is the delay that coderd requested, if any. */
  | { readonly kind: "rateLimited"; readonly retryAfterMs?: number; readonly message: string }
  /** The object already exists. */
  | { readonly kind: "duplicate"; readonly message: string }
  /** The object does not exist, or the token is not permitted to read it. */
  | { readonly kind: "notFound"; readonly message: string }
  /** coderd rejects the input, in the named fields if any. Only different input can succeed. */
  | { readonly kind: "invalid"; readonly fields?: readonly string[]; readonly message: string }
  /** No valid response. The request may have taken effect; a retry may succeed. */
  | { readonly kind: "transient"; readonly why?: TransientCause; readonly message: string };

/** `database`: coderd reports that it cannot reach its database, so it cannot check tokens either. */
type TransientCause = "noAnswer" | "database";

/** Whether coderd reports that it cannot reach its database. */
export function isDatabaseOutage(
  failure: CoderFailure | { readonly message: string },
): failure is Extract<CoderFailure, { kind: "transient" }> & { readonly why: "database" } {
  return "why" in failure && failure.why === "database";
}

/** Whether coderd is unreachable, failing or busy, so that a retry may succeed. */
export function mayResolve({ kind }: CoderFailure): boolean {
  return kind === "transient" || kind === "rateLimited";
}
