import type { StoredLicense } from "./licenses.ts";

export type Entitlement = "entitled" | "grace_period" | "not_entitled";

/** The limit of a countable feature. */
export interface Limit {
  readonly entitlement: Entitlement;
  readonly enabled: boolean;
  readonly limit?: number;
}

/** A feature in the entitlements. */
export interface LimitedFeature extends Limit {
  readonly actual?: number;
  readonly usage_period?: { readonly issued_at: string; readonly start: string; readonly end: string };
}

/** The default of a premium license without a limit of agents. */
const DEFAULT_AGENTS = {
  limit: 1_000,
  usage_period: {
    issued_at: "2025-07-01T00:00:00Z",
    start: "2025-07-01T00:00:00Z",
    end: "2125-07-01T00:00:00Z",
  },
};

export function best(entitlements: readonly Entitlement[]): Entitlement {
  if (entitlements.includes("entitled")) return "entitled";
  return entitlements.includes("grace_period") ? "grace_period" : "not_entitled";
}

/** Of several limits, the best entitlement applies, and among equals the largest. */
export function limitOf(feature: string, current: readonly StoredLicense[], seconds: number): Limit {
  const limits = current.flatMap((license) => {
    const limit = license.claims.features?.[feature];
    return limit ? [{ entitlement: termOf(license, seconds), enabled: true, limit }] : [];
  });
  const entitlement = best(limits.map((limit) => limit.entitlement));
  const [largest] = limits
    .filter((limit) => limit.entitlement === entitlement)
    .toSorted((one, other) => other.limit - one.limit);
  return largest ?? { entitlement: "not_entitled", enabled: false };
}

/** Agents are counted over a period: that of the license, or a century. */
export function managedAgentLimit(
  current: readonly StoredLicense[],
  seconds: number,
  actual: number,
): LimitedFeature {
  const named = current.filter(({ claims }) => claims.features?.managed_agent_limit);
  const [license] = named;
  if (license) {
    const { iat, nbf, exp } = license.claims;
    const usage_period = { issued_at: isoTime(iat), start: isoTime(nbf), end: isoTime(exp) };
    return { ...limitOf("managed_agent_limit", named, seconds), actual, usage_period };
  }
  const premium = current.filter(({ claims }) => claims.feature_set === "premium");
  if (premium.length === 0) return { entitlement: "not_entitled", enabled: false };
  const entitlement = best(premium.map((each) => termOf(each, seconds)));
  return { entitlement, enabled: true, actual, ...DEFAULT_AGENTS };
}

function termOf({ claims }: StoredLicense, seconds: number): Entitlement {
  return claims.license_expires > seconds ? "entitled" : "grace_period";
}

function isoTime(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}
