import type { ConditionState } from "kube-controller-runtime";
import { warningsOf } from "../../../coder/entitlements.ts";
import { type MergedTerm, mergedTerm } from "../../../coder/license-term.ts";
import type { Entitlements, License } from "../../../coder/model.ts";
import { redact } from "../../../coder/redact.ts";

const DAY_MS = 24 * 60 * 60_000;
/** coderd starts to warn at the same time. */
const SOON_MS = 30 * DAY_MS;
const TRIAL_SOON_MS = 7 * DAY_MS;

/** The license is valid but must be replaced soon. */
export const EXPIRES_SOON = "ExpiresSoon";

const RENEW = "upload a new license, or store it in the Secret of spec.licenseSecretRef";

/** Facts about the licenses of a deployment. */
export interface Licensing {
  readonly entitlements: Entitlements;
  readonly hasLicenses: boolean;
  /** Absent without a license with dates. */
  readonly term: MergedTerm | undefined;
  readonly now: number;
}

export function licensingOf(
  entitlements: Entitlements,
  licenses: readonly License[],
  now: number,
): Licensing {
  const terms = licenses.flatMap(({ term }) => term ?? []);
  return { entitlements, hasLicenses: licenses.length > 0, term: mergedTerm(terms, now), now };
}

/**
 * Condition of the license: accepted, within its term and within its limits. The most severe problem
 * determines the reason.
 */
export function judgeLicense(licensing: Licensing): ConditionState {
  const { entitlements, hasLicenses, term } = licensing;
  if (!hasLicenses)
    return state("Unknown", "NoLicense", "coderd has no license; licensed features are disabled.");
  if (term?.state === "over")
    return state(
      "False",
      "Expired",
      `The license expired on ${day(term.expires)}${hasGrace(term) ? `, and its grace period ended on ${day(term.graceEnds)}` : ""}; licensed features are disabled. To enable them, ${RENEW}.`,
    );
  if (term?.state === "notStarted")
    return state(
      "False",
      "NotStarted",
      `The license is not valid before ${day(term.starts)}; until then, licensed features are disabled.`,
    );
  if (!entitlements.hasLicense) return state("False", "NotAccepted", notAccepted(entitlements));
  return whileLicensed(licensing, term);
}

function whileLicensed({ entitlements, now }: Licensing, term: MergedTerm | undefined): ConditionState {
  const { used = 0, allowed = Number.POSITIVE_INFINITY } = entitlements.seats;
  const seats = `${used} users are active, but the license includes ${allowed} seats; suspend users or get a license with more seats.`;
  const isOver = used > allowed;
  if (term?.state === "inGrace")
    return state(
      "False",
      "InGrace",
      `The license expired on ${day(term.expires)}; licensed features work until ${day(term.graceEnds)}. Until then, ${RENEW}.${isOver ? ` ${seats}` : ""}`,
    );
  const isSoon = term !== undefined && term.expires - now < (entitlements.trial ? TRIAL_SOON_MS : SOON_MS);
  const end = term && `The license expires on ${day(term.expires)}`;
  if (isOver) return state("False", "OverSeats", isSoon ? `${seats} ${end}.` : seats);
  if (isSoon) {
    const grace = hasGrace(term)
      ? `and its grace period ends on ${day(term.graceEnds)}`
      : "without a grace period";
    return state("True", EXPIRES_SOON, `${end}, ${grace}; ${RENEW}.`);
  }
  return state("True", "Valid", end ? `${end}.` : "The license has no expiration date.");
}

function notAccepted(entitlements: Entitlements): string {
  const [first] = warningsOf(entitlements);
  const why = first === undefined ? "" : ` It reports: ${redact(first)}`;
  return `coderd does not accept its license, so licensed features are disabled; ${RENEW}.${why}`;
}

function state(status: ConditionState["status"], reason: string, message: string): ConditionState {
  return { status, reason, message };
}

function hasGrace({ expires, graceEnds }: MergedTerm): boolean {
  return day(graceEnds) !== day(expires);
}

/** A date, which does not change daily like a number of days. */
function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
