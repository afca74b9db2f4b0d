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

/** Whom the licenses of a deployment have to serve. */
interface Usage {
  readonly now: number;
  readonly refreshedAt: number;
  readonly activeUsers: number;
}

/** What the licenses of a deployment allow, as `GET /api/v2/entitlements` answers. */
export function entitlementsOf(licenses: readonly StoredLicense[], { now, refreshedAt, activeUsers }: Usage) {
  const seconds = now / 1_000;
  const unexpired = licenses.filter(({ claims }) => claims.exp > seconds);
  const current = unexpired.filter(({ claims }) => claims.nbf <= seconds);
  const limit = seatsOf(current, seconds);
  const features = Object.entries(FEATURES).map(([name, feature]) => {
    if (name === "user_limit") return [name, { ...limit, actual: activeUsers }];
    const entitlement = best(current.map((license) => allows(license, name, seconds)));
    return [name, { entitlement, enabled: feature.on && entitlement !== "not_entitled" }];
  });
  const trial = current.at(-1)?.claims.trial ?? false;
  return {
    features: Object.fromEntries(features),
    warnings: [...expiryWarning(unexpired, seconds, trial), ...seatWarning(limit, activeUsers)],
    errors: [],
    has_license: current.length > 0,
    trial,
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

interface SeatLimit {
  readonly entitlement: Entitlement;
  readonly enabled: boolean;
  readonly limit?: number;
}

/** Of several limits the best entitlement counts, and of the same the larger. */
function seatsOf(current: readonly StoredLicense[], seconds: number): SeatLimit {
  const limits = current.flatMap(({ claims }) => {
    const limit = claims.features?.user_limit;
    const entitlement: Entitlement = claims.license_expires > seconds ? "entitled" : "grace_period";
    return limit ? [{ entitlement, enabled: true, limit }] : [];
  });
  const entitlement = best(limits.map((limit) => limit.entitlement));
  const [largest] = limits
    .filter((limit) => limit.entitlement === entitlement)
    .toSorted((one, other) => other.limit - one.limit);
  return largest ?? { entitlement: "not_entitled", enabled: false };
}

/** coderd warns of the end of the first period that licenses cover without a gap. */
function expiryWarning(unexpired: readonly StoredLicense[], seconds: number, trial: boolean): string[] {
  const terms = unexpired.map(({ claims }) => claims).toSorted((one, other) => one.nbf - other.nbf);
  let end = terms[0]?.license_expires ?? 0;
  for (const { nbf, license_expires } of terms) if (nbf <= end) end = Math.max(end, license_expires);
  const days = Math.ceil((end - seconds) / DAY_SECONDS);
  if (days <= 0 || days >= (trial ? 7 : 30)) return [];
  return [`Your license expires in ${days} day${days === 1 ? "" : "s"}.`];
}

function seatWarning({ entitlement, limit }: SeatLimit, users: number): string[] {
  if (limit === undefined) return [];
  if (users > limit) return [`Your deployment has ${users} active users but is only licensed for ${limit}.`];
  if (entitlement !== "grace_period") return [];
  return [`Your deployment has ${users} active users but the license with the limit ${limit} is expired.`];
}
