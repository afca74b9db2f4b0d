import { RENEW_BEFORE_MS } from "../../../coder/operator-access/token.ts";
import type { TokenCheck } from "./check.ts";
import type { HeldToken } from "./secret.ts";

/** All that the decision about the operator's own token rests on. */
export interface TokenFacts {
  readonly now: number;
  /** The token that the Secret holds. */
  readonly held: Pick<HeldToken, "expiresAt" | "rotation"> | undefined;
  /** The request for another token, if there is one. */
  readonly rotation?: string | undefined;
  /** Whether the token was made for another cluster's object, which may end it at any time. */
  readonly isCopied?: boolean;
  /** What coderd said to it; absent while it was not asked in this run. */
  readonly check: (Pick<TokenCheck, "verdict"> & { readonly lacksMembership?: boolean }) | undefined;
  /** Whether the token was good when it was last tried. */
  readonly wasGood: boolean;
  /** How far the database is with the token: it gave a new one that it has yet to confirm, or it has confirmed it. */
  readonly database: "unasked" | "issued" | "confirmed";
}

/**
 * What to do about the token that the Secret holds:
 *
 *     check ──► keep
 *       ├─────► renew ───┐  until the Secret holds what the database confirms,
 *       └─────► obtain ──┴► which ends all other tokens ──► keep
 */
export type TokenPlan =
  /** It works; nobody is asked. */
  | { readonly do: "keep" }
  /** Ask coderd whether it works. */
  | { readonly do: "check" }
  /**
   * It works, but somebody asked for another, it belongs to another cluster, it ends soon, its predecessor may still be valid, or its user is not a member of every organization.
   * Failing at that is no outage.
   */
  | { readonly do: "renew" }
  /** Nothing says that it works, so the database has to. */
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

/** Whether another token than this one is asked for. */
export function isAsked(
  held: Pick<HeldToken, "rotation"> | undefined,
  rotation: string | undefined,
): boolean {
  return rotation !== undefined && held?.rotation !== rotation;
}
