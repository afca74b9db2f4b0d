import type { FirstAdminStatus } from "../../../api/v1alpha1/first-admin.ts";
import type { FirstAdmin } from "../../coderd/settings.ts";

/** Input of the decision about the first admin. */
export interface FirstAdminFacts {
  readonly wanted: Pick<FirstAdmin, "email" | "username" | "isGenerated">;
  readonly recorded: FirstAdminStatus | undefined;
  /** Whether a pod of coderd is ready, and whether it is time to ask it again. */
  readonly isServing: boolean;
  readonly isCheckDue: boolean;
  /** Whether coderd has users. Undefined if it was not asked in this run. */
  readonly hasUsers: boolean | undefined;
  readonly password: string | undefined;
  /** Whether coderd has a user with this email address and password. Undefined if that was not checked. */
  readonly isVerified: boolean | undefined;
}

/**
 * The next step towards a first admin:
 *
 *    check ──► storePassword ──► create ──► accept ──► keep
 *       ├────► verify ────────────────────────┤   the answer to an attempt was lost
 *       └─────────────────────────────────────┘   coderd has users
 */
export type FirstAdminPlan =
  /** coderd has users. */
  | { readonly do: "keep" }
  /** No pod of coderd is ready yet. */
  | { readonly do: "wait" }
  /** The Secret in the spec lacks the password. */
  | { readonly do: "awaitPassword" }
  /** Ask coderd whether it has users. */
  | { readonly do: "check" }
  /** Store a new password before coderd gets it. */
  | { readonly do: "storePassword" }
  | { readonly do: "create"; readonly password: string }
  /** Check the password: an earlier attempt may have created the user. */
  | { readonly do: "verify"; readonly password: string }
  | { readonly do: "accept"; readonly state: "Created" | "UsersExist" };

export function planFirstAdmin(facts: FirstAdminFacts): FirstAdminPlan {
  const { wanted, isServing, isCheckDue, hasUsers, password } = facts;
  const recorded = isSameUser(facts.recorded, wanted) ? facts.recorded : undefined;
  const isSettled = recorded !== undefined && recorded.state !== "Creating";
  if (hasUsers === undefined) {
    if (isSettled && !(isServing && isCheckDue)) return { do: "keep" };
    if (isServing) return { do: "check" };
    return { do: !wanted.isGenerated && password === undefined ? "awaitPassword" : "wait" };
  }
  if (hasUsers) return isSettled ? { do: "keep" } : whoIsThere(recorded, facts);
  if (password !== undefined) return { do: "create", password };
  return { do: wanted.isGenerated ? "storePassword" : "awaitPassword" };
}

/** Finds out whether the operator created the user. */
function whoIsThere(
  recorded: FirstAdminStatus | undefined,
  { password, isVerified }: FirstAdminFacts,
): FirstAdminPlan {
  const mayBeOurs = recorded !== undefined && password !== undefined;
  if (mayBeOurs && isVerified === undefined) return { do: "verify", password };
  return { do: "accept", state: mayBeOurs && isVerified ? "Created" : "UsersExist" };
}

/** Names and addresses in coderd are not case-sensitive. */
export function isSameUser(
  recorded: FirstAdminStatus | undefined,
  wanted: Pick<FirstAdmin, "email" | "username">,
): boolean {
  const same = (left: string | undefined, right: string) => left?.toLowerCase() === right.toLowerCase();
  return same(recorded?.email, wanted.email) && same(recorded?.username, wanted.username);
}
