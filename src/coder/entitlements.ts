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
  return ONLY_IN_PREMIUM.some((feature) => isAllowed(entitlementOf(entitlements, feature)))
    ? "premium"
    : "enterprise";
}

/** Whether daemons outside coderd may be used, which provisioner keys need. */
export function externalProvisionerDaemons(entitlements: Entitlements): Entitlement {
  return entitlementOf(entitlements, "external_provisioner_daemons");
}

export function isAllowed(entitlement: Entitlement): boolean {
  return entitlement === "entitled" || entitlement === "grace_period";
}

function entitlementOf(entitlements: Entitlements, feature: string): Entitlement {
  const value = entitlements.features[feature];
  return value === "entitled" || value === "grace_period" || value === "not_entitled" ? value : "unknown";
}
