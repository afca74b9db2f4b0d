/** Differences between the recorded versions of coderd. */
export interface Traits {
  readonly provisionerApi: string;
  /** The list of licenses if there is none, or none that the client may read. */
  readonly noLicenses: readonly never[] | null;
  /** Whether limits apply per user and owners may bypass them; otherwise they apply per address. */
  readonly hasUserLimits: boolean;
  /** Whether it has the features of AI governance, and limits of agents and their users. */
  readonly hasAiFeatures: boolean;
  /** Whether it calls the request for an unknown user invalid. */
  readonly refusesMissingUsers: boolean;
  /** Whether everyone in an organization sees all of its groups and members. */
  readonly hasOpenMembership: boolean;
  /** The unique index that a second role of the same name violates. */
  readonly roleIndex: string;
  /** The words for the type of a permission that does not exist. */
  readonly unknownResource: (type: string) => string;
  /** Built-in roles of organizations beside those of all versions, by name and display name. */
  readonly moreRoles: readonly (readonly [name: string, displayName: string])[];
  /** Fields that only this version returns. */
  readonly more: {
    readonly buildInfo: object;
    readonly organization: object;
    readonly user: object;
    readonly member: object;
    readonly role: object;
    readonly token: object;
    readonly job: object;
  };
}

const OLDER: Traits = {
  provisionerApi: "1.9",
  noLicenses: null,
  hasUserLimits: false,
  hasAiFeatures: false,
  refusesMissingUsers: true,
  hasOpenMembership: false,
  roleIndex: "idx_custom_roles_name_lower",
  unknownResource: (type) => `invalid resource type "${type}"`,
  moreRoles: [],
  more: { buildInfo: {}, organization: {}, user: {}, member: {}, role: {}, token: {}, job: {} },
};

const SOME_TIME = "2026-01-01T00:00:00Z";

const NEWER: Traits = {
  provisionerApi: "1.18",
  noLicenses: [],
  hasUserLimits: true,
  hasAiFeatures: true,
  refusesMissingUsers: false,
  hasOpenMembership: true,
  roleIndex: "custom_roles_unique_key",
  unknownResource: (type) => `org invalid resource type "${type}": invalid resource type "${type}"`,
  moreRoles: [
    ["agents-access", "Coder Agents User"],
    ["organization-workspace-access", "Organization Workspace Access"],
  ],
  more: {
    buildInfo: { webpush_public_key: "public" },
    organization: { default_org_member_roles: ["organization-workspace-access"] },
    user: { has_ai_seat: false },
    member: {
      status: "active",
      login_type: "password",
      has_ai_seat: false,
      last_seen_at: SOME_TIME,
      user_created_at: SOME_TIME,
      user_updated_at: SOME_TIME,
    },
    role: { organization_member_permissions: null },
    token: { scopes: ["coder:all"], allow_list: ["*:*"] },
    job: { initiator_id: "00000000-0000-0000-0000-000000000000" },
  },
};

/** The last minor version that behaves like the older recording. */
const LAST_OLDER = 26;

/**
 * A version without a recording behaves like the older recording up to that version, and like the newer one
 * after it.
 */
export function traitsOf(version: string): Traits {
  const [, major = 0, minor = 0] = /^v?(\d+)\.(\d+)/.exec(version)?.map(Number) ?? [];
  return major < 2 || (major === 2 && minor <= LAST_OLDER) ? OLDER : NEWER;
}
