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
  /** Fields that only this version returns. */
  readonly more: {
    readonly buildInfo: object;
    readonly organization: object;
    readonly user: object;
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
  more: { buildInfo: {}, organization: {}, user: {}, token: {}, job: {} },
};

const NEWER: Traits = {
  provisionerApi: "1.18",
  noLicenses: [],
  hasUserLimits: true,
  hasAiFeatures: true,
  refusesMissingUsers: false,
  more: {
    buildInfo: { webpush_public_key: "public" },
    organization: { default_org_member_roles: ["organization-workspace-access"] },
    user: { has_ai_seat: false },
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
