import type { StoredLicense } from "./licenses.ts";
import {
  best,
  type Entitlement,
  type Limit,
  type LimitedFeature,
  limitOf,
  managedAgentLimit,
} from "./limits.ts";
import type { Traits } from "./traits.ts";

/** Every feature of coderd except limits, and whether a license enables it without further configuration. */
const FEATURES: Readonly<Record<string, { on: boolean; premiumOnly?: true; isAi?: true }>> = {
  access_control: { on: true },
  advanced_template_scheduling: { on: true },
  aibridge: { on: true, isAi: true },
  appearance: { on: true },
  audit_log: { on: true },
  boundary: { on: true, isAi: true },
  browser_only: { on: false },
  connection_log: { on: true },
  control_shared_ports: { on: true },
  custom_roles: { on: true, premiumOnly: true },
  external_provisioner_daemons: { on: true },
  external_token_encryption: { on: false },
  high_availability: { on: true },
  multiple_external_auth: { on: true },
  multiple_organizations: { on: true, premiumOnly: true },
  scim: { on: false },
  service_accounts: { on: true, premiumOnly: true, isAi: true },
  task_batch_actions: { on: true, isAi: true },
  template_rbac: { on: true },
  user_role_management: { on: true },
  workspace_batch_actions: { on: true },
  workspace_external_agent: { on: true },
  workspace_prebuilds: { on: true },
  workspace_proxy: { on: true },
};

const DAY_SECONDS = 24 * 60 * 60;

const ADDON_WARNING =
  "The AI Governance add-on is required to use AI Gateway. Please reach out to your account team or sales@coder.com to learn more.";

/** The usage that the licenses of a deployment must cover. */
interface Service {
  readonly now: number;
  readonly refreshedAt: number;
  readonly usage: Readonly<Record<"users" | "managedAgents" | "aiUsers", number>>;
  readonly traits: Traits;
}

/** The entitlements of the licenses, as returned by `GET /api/v2/entitlements`. */
export function entitlementsOf(licenses: readonly StoredLicense[], service: Service) {
  const { now, refreshedAt, usage, traits } = service;
  const seconds = now / 1_000;
  const unexpired = licenses.filter(({ claims }) => claims.exp > seconds);
  const current = unexpired.filter(({ claims }) => claims.nbf <= seconds);
  const known = Object.entries(FEATURES).filter(([, { isAi }]) => traits.hasAiFeatures || !isAi);
  const features = known.map(([name, { on }]) => {
    const entitlement = best(current.map((license) => allows(license, name, seconds)));
    return [name, { entitlement, enabled: on && entitlement !== "not_entitled" }];
  });
  const limits = limitsOf(current, seconds, service);
  const trial = current.at(-1)?.claims.trial ?? false;
  const hasLicense = current.length > 0;
  return {
    features: { ...Object.fromEntries(features), ...limits } as Record<string, LimitedFeature>,
    warnings: [
      ...expiryWarning(unexpired, seconds, trial),
      ...seatWarning(limits.user_limit, usage.users),
      ...(traits.hasAiFeatures && hasLicense ? [ADDON_WARNING] : []),
    ],
    errors: [],
    has_license: hasLicense,
    trial,
    require_telemetry: false,
    refreshed_at: new Date(refreshedAt).toISOString(),
  };
}

function limitsOf(current: readonly StoredLicense[], seconds: number, { usage, traits }: Service) {
  const userLimit = { ...limitOf("user_limit", current, seconds), actual: usage.users };
  if (!traits.hasAiFeatures)
    return { user_limit: userLimit, managed_agent_limit: limitOf("managed_agent_limit", [], seconds) };
  const ai = limitOf("ai_governance_user_limit", current, seconds);
  return {
    user_limit: userLimit,
    managed_agent_limit: managedAgentLimit(current, seconds, usage.managedAgents),
    ai_governance_user_limit: ai.limit === undefined ? ai : { ...ai, actual: usage.aiUsers },
  };
}

function allows({ claims }: StoredLicense, name: string, seconds: number): Entitlement {
  const feature = FEATURES[name];
  if (!feature || (feature.premiumOnly && claims.feature_set !== "premium")) return "not_entitled";
  return claims.license_expires > seconds ? "entitled" : "grace_period";
}

/** coderd warns about the end of the first period that licenses cover without a gap. */
function expiryWarning(unexpired: readonly StoredLicense[], seconds: number, trial: boolean): string[] {
  const terms = unexpired.map(({ claims }) => claims).toSorted((one, other) => one.nbf - other.nbf);
  let end = terms[0]?.license_expires ?? 0;
  for (const { nbf, license_expires } of terms) if (nbf <= end) end = Math.max(end, license_expires);
  const days = Math.ceil((end - seconds) / DAY_SECONDS);
  if (days <= 0 || days >= (trial ? 7 : 30)) return [];
  return [`Your license expires in ${days} day${days === 1 ? "" : "s"}.`];
}

function seatWarning({ entitlement, limit }: Limit, users: number): string[] {
  if (limit === undefined) return [];
  if (users > limit) return [`Your deployment has ${users} active users but is only licensed for ${limit}.`];
  if (entitlement !== "grace_period") return [];
  return [`Your deployment has ${users} active users but the license with the limit ${limit} is expired.`];
}
