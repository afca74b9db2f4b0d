import type { Entitlements } from "./model.ts";

export type LicenseTier = "none" | "trial" | "enterprise" | "premium" | "unknown";

/** A feature in its grace period is still allowed. */
export type Entitlement = "entitled" | "grace_period" | "not_entitled" | "unknown";

const ONLY_IN_PREMIUM = ["custom_roles", "multiple_organizations"];

/** Derives the tier of the license from its features, because coderd does not report it. */
export function licenseTier(entitlements: Entitlements): LicenseTier {
  if (!entitlements.hasLicense) return "none";
  if (entitlements.trial) return "trial";
  if (Object.keys(entitlements.features).length === 0) return "unknown";
  return ONLY_IN_PREMIUM.some((feature) => allows(entitlements, feature)) ? "premium" : "enterprise";
}

/**
 * A warning that coderd reports for every license without the add-on while the AI gateway is enabled. It is
 * an offer and requires no action.
 */
const OFFERS = [/^The AI Governance add-on is required to use AI Gateway\b/];

/** Warnings of coderd that require action. */
export function warningsOf({ warnings }: Entitlements): readonly string[] {
  return warnings.filter((warning) => !OFFERS.some((offer) => offer.test(warning)));
}

/** Whether external daemons are allowed, which provisioner keys require. */
export function externalProvisionerDaemons(entitlements: Entitlements): Entitlement {
  return entitlementOf(entitlements, "external_provisioner_daemons");
}

/** Whether the licenses include a feature, by its name in coderd. */
export function allows(entitlements: Entitlements, feature: string): boolean {
  return isAllowed(entitlementOf(entitlements, feature));
}

export function isAllowed(entitlement: Entitlement): boolean {
  return entitlement === "entitled" || entitlement === "grace_period";
}

function entitlementOf(entitlements: Entitlements, feature: string): Entitlement {
  const value = entitlements.features[feature];
  return value === "entitled" || value === "grace_period" || value === "not_entitled" ? value : "unknown";
}
