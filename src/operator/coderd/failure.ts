import type { Condition } from "kube-controller-runtime";
import { type CoderFailure, isDatabaseOutage } from "../../coder/failure.ts";
import type { ObservedControlPlane } from "./find-control-plane.ts";

/** Reason of all conditions that are unknown because coderd cannot reach its database. */
export const WITHOUT_DATABASE = "CoderdWithoutDatabase";

/** Whether a condition of an object reports that coderd could not reach its database. */
export function reportsOutage(object: object): boolean {
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } };
  return status?.conditions?.some(({ reason }) => reason === WITHOUT_DATABASE) ?? false;
}

type Reasons = Readonly<Record<CoderFailure["kind"], string>>;

const reasons: Reasons = {
  duplicate: "Rejected",
  forbidden: "Forbidden",
  invalid: "Rejected",
  notEntitled: "NotEntitled",
  notFound: "NotSupported",
  rateLimited: "RateLimited",
  transient: "CoderdUnreachable",
  unsupported: "NotSupported",
};

/**
 * Condition reason for a failure of coderd. `words` contains the reasons of a specific condition. No response
 * and a database outage have the same reason everywhere.
 */
export function reasonOf(failure: CoderFailure, words: Partial<Reasons> = {}): string {
  if (isDatabaseOutage(failure)) return WITHOUT_DATABASE;
  const isSilent = failure.kind === "transient" && failure.why === "noAnswer";
  return (isSilent ? undefined : words[failure.kind]) ?? reasons[failure.kind];
}

const ADVICE: Readonly<Record<Exclude<CoderFailure["kind"], "forbidden">, string | undefined>> = {
  duplicate: undefined,
  invalid: "Correct the rejected values.",
  notEntitled: "Add a license that includes the feature.",
  notFound: undefined,
  rateLimited: "The operator backs off and retries.",
  transient: "The operator retries; if this persists, check that coderd is running and reachable.",
  unsupported: "This coderd does not have the feature: it is an open-source build or too old.",
};

/** Explains why a control plane lacks a licensed feature, and how to get it. */
export function lacksLicense(
  { settings: { identity, license }, status }: ObservedControlPlane,
  feature: string,
): string {
  const owner = `CoderControlPlane "${identity.name}"`;
  if (status.licenseTier !== "none")
    return `The license of ${owner} does not include ${feature}; add one that does.`;
  const advice = license
    ? "see its condition LicenseApplied"
    : "store one in a Secret and set its spec.licenseSecretRef";
  return `${owner} has no license, and ${feature} require one; ${advice}.`;
}

const ACCESS_ADVICE = {
  unauthenticated: "Use a token that is still valid.",
  notPermitted: "Use a token of a user with the owner role.",
} as const;

/** Condition message for a failure that is retried: what happened, and what to do. */
export function withAdvice(failure: CoderFailure): string {
  if (isDatabaseOutage(failure))
    return `${failure.message} Check that the database is running and that coderd's pods can connect to it; the operator retries.`;
  const advice = failure.kind === "forbidden" ? ACCESS_ADVICE[failure.why] : ADVICE[failure.kind];
  return advice ? `${failure.message} ${advice}` : failure.message;
}
