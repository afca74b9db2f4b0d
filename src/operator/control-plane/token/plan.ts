import { RENEW_BEFORE_MS } from "../../../coder/operator-access/token.ts";
import type { TokenCheck } from "./check.ts";
import type { HeldToken } from "./secret.ts";

/** Facts for the decision about the generated token. */
export interface TokenFacts {
  readonly now: number;
  /** The stored token. */
  readonly held: Pick<HeldToken, "expiresAt" | "rotation"> | undefined;
  /** The requested rotation, if any. */
  readonly rotation?: string | undefined;
  /** Whether the token was created for an object in another cluster, which may revoke it at any time. */
  readonly isCopied?: boolean;
  /** Result of the check with coderd. Absent if it was not asked in this reconcile. */
  readonly check: (Pick<TokenCheck, "verdict"> & { readonly lacksMembership?: boolean }) | undefined;
  /** Whether the last check of the token succeeded. */
  readonly wasGood: boolean;
  /** State in the database: not queried, issued but not confirmed, or confirmed. */
  readonly database: "unasked" | "issued" | "confirmed";
}

/**
 * The next action for the stored token:
 *
 *     check ──► keep
 *       ├─────► renew ───┐  until the Secret contains the token that the database confirmed,
 *       └─────► obtain ──┴► which revokes all other tokens ──► keep
 */
export type TokenPlan =
  /** The token works; no requests are needed. */
  | { readonly do: "keep" }
  /** Check the token with coderd. */
  | { readonly do: "check" }
  /**
   * The token works, but a rotation was requested, it belongs to another cluster, it expires soon, its
   * predecessor may still be valid, or its user is not a member of every organization. A failure is not an
   * outage.
   */
  | { readonly do: "renew" }
  /** The token is not known to work, so the database must confirm or replace it. */
  | { readonly do: "obtain" };

export function planToken(facts: TokenFacts): TokenPlan {
  const { now, held, rotation, isCopied = false, check, wasGood, database } = facts;
  if (database === "confirmed") return { do: "keep" };
  if (!held || database === "issued") return { do: "obtain" };
  if (!check) return { do: "check" };
  if (check.verdict === "rejected" || (check.verdict === "unclear" && !wasGood)) return { do: "obtain" };
  const { expiresAt } = held;
  const endsSoon = expiresAt === undefined || expiresAt - now < RENEW_BEFORE_MS;
  const isOutdated = endsSoon || isCopied || isAsked(held, rotation);
  return { do: isOutdated || check.lacksMembership ? "renew" : "keep" };
}

/** Whether a different token was requested. */
export function isAsked(
  held: Pick<HeldToken, "rotation"> | undefined,
  rotation: string | undefined,
): boolean {
  return rotation !== undefined && held?.rotation !== rotation;
}
