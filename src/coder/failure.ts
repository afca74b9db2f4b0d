/**
 * Why coderd did not do what was asked. Every `message` is safe to show in a condition, an event or a log:
 * it says what came back from where, and never holds a token, a key, a JWT or a body.
 */
export type CoderFailure =
  /** This coderd has no such route: an open-source build, or one that is too old. */
  | { readonly kind: "unsupported"; readonly message: string }
  /** The token is refused altogether, or it may not do this. */
  | {
      readonly kind: "forbidden";
      readonly why: "unauthenticated" | "notPermitted";
      readonly message: string;
    }
  /** The license does not cover this. */
  | { readonly kind: "notEntitled"; readonly message: string }
  /** Too many requests; `retryAfterMs` is what coderd asked for, if it did. */
  | { readonly kind: "rateLimited"; readonly retryAfterMs?: number; readonly message: string }
  /** The thing exists already. */
  | { readonly kind: "duplicate"; readonly message: string }
  /** The thing does not exist, or is hidden from this token. */
  | { readonly kind: "notFound"; readonly message: string }
  /** coderd understood and rejects what was sent: only different input can help. */
  | { readonly kind: "invalid"; readonly message: string }
  /** Nothing usable came back. Whether the request took effect is unknown; trying again may help. */
  | { readonly kind: "transient"; readonly why?: TransientCause; readonly message: string };

/** `database`: coderd answers that it can't reach its own database, so that it knows no token either. */
type TransientCause = "noAnswer" | "database";

/** Whether coderd says that its database is out of reach. */
export function isDatabaseOutage(
  failure: CoderFailure | { readonly message: string },
): failure is Extract<CoderFailure, { kind: "transient" }> & { readonly why: "database" } {
  return "why" in failure && failure.why === "database";
}

/** Whether coderd is only out of reach, in trouble or busy, so that trying again may help. */
export function mayPass({ kind }: CoderFailure): boolean {
  return kind === "transient" || kind === "rateLimited";
}
