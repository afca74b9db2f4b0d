import type { StoredLicense } from "./licenses.ts";

/** Every feature coderd 2.26 knows, and whether it is on once licensed and nothing else is configured. */
const FEATURES: Readonly<Record<string, { on: boolean; premiumOnly?: true; limit?: true }>> = {
  access_control: { on: true },
  advanced_template_scheduling: { on: true },
  appearance: { on: true },
  audit_log: { on: true },
  browser_only: { on: false },
  connection_log: { on: true },
  control_shared_ports: { on: true },
  custom_roles: { on: true, premiumOnly: true },
  external_provisioner_daemons: { on: true },
  external_token_encryption: { on: false },
  high_availability: { on: true },
  managed_agent_limit: { on: false, limit: true },
  multiple_external_auth: { on: true },
  multiple_organizations: { on: true, premiumOnly: true },
  scim: { on: false },
  template_rbac: { on: true },
  user_limit: { on: false, limit: true },
  user_role_management: { on: true },
  workspace_batch_actions: { on: true },
  workspace_external_agent: { on: true },
  workspace_prebuilds: { on: true },
  workspace_proxy: { on: true },
};

type Entitlement = "entitled" | "grace_period" | "not_entitled";

const DAY_SECONDS = 24 * 60 * 60;

/** What the licenses of a deployment allow at `now`, as `GET /api/v2/entitlements` answers. */
export function entitlementsOf(licenses: readonly StoredLicense[], now: number, refreshedAt: number) {
  const seconds = now / 1_000;
  const current = licenses.filter(({ claims }) => claims.exp > seconds);
  const features = Object.entries(FEATURES).map(([name, feature]) => {
    const entitlement = best(current.map((license) => allows(license, name, seconds)));
    const enabled = feature.on && entitlement !== "not_entitled";
    return [name, { entitlement, enabled, ...(name === "user_limit" ? { actual: 1 } : {}) }];
  });
  return {
    features: Object.fromEntries(features),
    warnings: current.flatMap((license) => expiryWarning(license, seconds)),
    errors: licenses.length > current.length ? ["A license has expired."] : [],
    has_license: current.length > 0,
    trial: current.length > 0 && current.every(({ claims }) => claims.trial),
    require_telemetry: false,
    refreshed_at: new Date(refreshedAt).toISOString(),
  };
}

function allows({ claims }: StoredLicense, name: string, seconds: number): Entitlement {
  const feature = FEATURES[name];
  if (!feature || feature.limit) return "not_entitled";
  if (feature.premiumOnly && claims.feature_set !== "premium") return "not_entitled";
  return claims.license_expires > seconds ? "entitled" : "grace_period";
}

function best(entitlements: readonly Entitlement[]): Entitlement {
  if (entitlements.includes("entitled")) return "entitled";
  return entitlements.includes("grace_period") ? "grace_period" : "not_entitled";
}

function expiryWarning({ claims }: StoredLicense, seconds: number): string[] {
  const days = Math.ceil((claims.license_expires - seconds) / DAY_SECONDS);
  if (days <= 0 || days > 30) return [];
  return [`Your license expires in ${days} day${days === 1 ? "" : "s"}.`];
}
