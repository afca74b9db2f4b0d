import {
  boolean,
  count,
  type Decoded,
  type Decoder,
  excerpt,
  list,
  number,
  object,
  optional,
  record,
  string,
  time,
  unixTime,
  word,
} from "./decode.ts";

export const buildInfo = object((field) => ({
  version: field("version", word),
}));
export type BuildInfo = Decoded<typeof buildInfo>;

export const user = object((field) => ({
  username: field("username", string),
  email: field("email", string),
  roles: field("roles", list(object((role) => role("name", string)))),
  organizationIds: field("organization_ids", list(string)),
}));
export type User = Decoded<typeof user>;

export const tokenEnd: Decoder<number> = object((field) => field("expires_at", time));

/** Compare organizations by `id`, because `default` is an alias for an organization with another name. */
export const organization = object((field) => ({
  id: field("id", word),
}));
export type Organization = Decoded<typeof organization>;

export const provisionerKey = object((field) => ({
  id: field("id", word),
  name: field("name", string),
  tags: field("tags", record(string)),
  createdAt: field("created_at", optional(word)),
}));
export type ProvisionerKey = Decoded<typeof provisionerKey>;

export const createdProvisionerKey: Decoder<string> = object((field) => field("key", string));

/** In milliseconds since the epoch. Absent if the license lacks a date that every valid license has. */
const term = object((claim) => {
  const starts = claim("nbf", optional(unixTime));
  const expires = claim("license_expires", optional(unixTime));
  const graceEnds = claim("exp", optional(unixTime));
  if (starts === undefined || expires === undefined || graceEnds === undefined) return undefined;
  // The license remains valid in the grace period, which does not end before the term.
  return { starts, expires, graceEnds: Math.max(expires, graceEnds) };
});
export type LicenseTerm = NonNullable<Decoded<typeof term>>;

/** A license stored in coderd, including expired licenses. */
export const license = object((field) => ({
  id: field("id", number),
  uuid: field("uuid", word),
  term: field("claims", term),
}));
export type License = Decoded<typeof license>;

/** A resource that licenses limit. */
interface Counted {
  /** Absent if coderd does not report it. */
  readonly used: number | undefined;
  /** Absent if unlimited. */
  readonly allowed: number | undefined;
}

const counted: Decoder<Counted> = object((feature) => ({
  used: feature("actual", optional(count)),
  allowed: feature("limit", optional(count)),
}));

const uncounted: Counted = { used: undefined, allowed: undefined };

/** Limits of the licenses. A coderd that does not know a feature omits it. */
const limits = object((feature) => ({
  seats: feature("user_limit", optional(counted)) ?? uncounted,
  managedAgents: feature("managed_agent_limit", optional(counted)) ?? uncounted,
  aiSeats: feature("ai_governance_user_limit", optional(counted)) ?? uncounted,
}));

/** Entitlements of the deployment. Reading them needs no authentication, so they do not validate a token. */
export const entitlements = object((field) => {
  const errors = field("errors", optional(list(excerpt)));
  const warnings = field("warnings", optional(list(excerpt)));
  return {
    hasLicense: field("has_license", boolean),
    trial: field("trial", boolean),
    /** Feature name to `entitled`, `grace_period`, `not_entitled`, or a value of a later version. */
    features: field("features", record(object((feature) => feature("entitlement", word)))),
    /** Active users, workspaces built with AI agents, and AI users. */
    ...(field("features", optional(limits)) ?? {
      seats: uncounted,
      managedAgents: uncounted,
      aiSeats: uncounted,
    }),
    /** Messages of coderd, errors before warnings. */
    warnings: [...(errors ?? []), ...(warnings ?? [])],
  };
});
export type Entitlements = Decoded<typeof entitlements>;

const proxyStatus = object((field) => ({
  status: field("status", word),
  errors: field("report", optional(object((report) => report("errors", optional(list(excerpt)))))),
}));

export const workspaceProxy = object((field) => {
  const status = field("status", optional(proxyStatus));
  return {
    id: field("id", word),
    name: field("name", string),
    displayName: field("display_name", string),
    icon: field("icon_url", string),
    /** Last status that coderd observed: `ok`, `unreachable`, `unhealthy` or `unregistered`. */
    status: status?.status ?? "unregistered",
    /** Problems that coderd reports. */
    errors: status?.errors ?? [],
  };
});
export type WorkspaceProxy = Decoded<typeof workspaceProxy>;

/** All proxies of a deployment. coderd lists itself as `primary`. */
export const workspaceProxies: Decoder<readonly WorkspaceProxy[]> = object((field) =>
  field("regions", list(workspaceProxy)),
);

export const registeredProxy = object((field) => ({
  proxy: field("proxy", workspaceProxy),
  /** Session token of the proxy. Only this response contains it. */
  token: field("proxy_token", string),
}));
export type RegisteredProxy = Decoded<typeof registeredProxy>;
