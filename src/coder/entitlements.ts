import type { Entitlements } from "./model.ts";

export type LicenseTier = "none" | "trial" | "enterprise" | "premium" | "unknown";

/** A feature counts in its grace period too: coderd still allows it. */
export type Entitlement = "entitled" | "grace_period" | "not_entitled" | "unknown";

const ONLY_IN_PREMIUM = ["custom_roles", "multiple_organizations"];

/** The tier of a deployment's license, derived from what it allows: coderd does not name it. */
export function licenseTier(entitlements: Entitlements): LicenseTier {
  if (!entitlements.hasLicense) return "none";
  if (entitlements.trial) return "trial";
  if (Object.keys(entitlements.features).length === 0) return "unknown";
  return ONLY_IN_PREMIUM.some((feature) => allows(entitlements, feature)) ? "premium" : "enterprise";
}

/**
 * What coderd says under every license without an add-on, as long as the AI gateway is not turned off: an offer, and
 * nothing that anybody has to act on.
 */
const OFFERS = [/^The AI Governance add-on is required to use AI Gateway\b/];

/** What coderd warns of, in its own words, but for what calls for no action. */
export function warningsOf({ warnings }: Entitlements): readonly string[] {
  return warnings.filter((warning) => !OFFERS.some((offer) => offer.test(warning)));
}

/** Whether daemons outside coderd may be used, which provisioner keys need. */
export function externalProvisionerDaemons(entitlements: Entitlements): Entitlement {
  return entitlementOf(entitlements, "external_provisioner_daemons");
}

/** Whether the licenses allow a feature, by coderd's name for it. */
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
