/** What differs between the versions of coderd that there are recordings of. */
export interface Traits {
  readonly provisionerApi: string;
  /** The list of licenses where there is none, or none that the caller may read. */
  readonly noLicenses: readonly never[] | null;
  /** Whether limits count by user and let owners bypass them; else they count by address, for everybody. */
  readonly hasUserLimits: boolean;
  /** Whether it knows the features that came with AI governance, and limits of agents and of their users. */
  readonly hasAiFeatures: boolean;
  /** What answers have besides what all versions have. */
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
  more: { buildInfo: {}, organization: {}, user: {}, token: {}, job: {} },
};

const NEWER: Traits = {
  provisionerApi: "1.18",
  noLicenses: [],
  hasUserLimits: true,
  hasAiFeatures: true,
  more: {
    buildInfo: { webpush_public_key: "public" },
    organization: { default_org_member_roles: ["organization-workspace-access"] },
    user: { has_ai_seat: false },
    token: { scopes: ["coder:all"], allow_list: ["*:*"] },
    job: { initiator_id: "00000000-0000-0000-0000-000000000000" },
  },
};

/** The last minor version that answers like the older of the two. */
const LAST_OLDER = 26;

/** A version that is not recorded answers like the older of the two up to that one, and like the newer from then on. */
export function traitsOf(version: string): Traits {
  const [, major = 0, minor = 0] = /^v?(\d+)\.(\d+)/.exec(version)?.map(Number) ?? [];
  return major < 2 || (major === 2 && minor <= LAST_OLDER) ? OLDER : NEWER;
}
