/** Maximum length of a provisioner key name in coderd. */
export const maxKeyNameLength = 64;

/** Names that coderd reserves for its own keys. Not case-sensitive. */
export const reservedKeyNames = ["built-in", "user-auth", "psk"] as const;

/** Limits of coderd for the full name of a user, and of mail servers for addresses. */
export const maxRealNameLength = 128;
export const maxEmailLength = 254;

/** Usernames that coderd rejects or uses itself, and that of the operator. Not case-sensitive. */
export const reservedUsernames = ["new", "create", "me", "prebuilds", "coder-k8s-operator"] as const;

/** Maximum length of the banner message of an upgrade. */
export const maxBannerLength = 1_024;

/** The operator records host names only up to this number of replicas. */
export const maxUpgradeHosts = 100;

/** Longest name of an organization, a user and a role in coderd. */
export const maxUsernameLength = 32;

/** Longest name of a group in coderd. */
export const maxGroupNameLength = 255;

/** Most members that the spec of a group can list. */
export const maxMembers = 5_000;

/** Most names that one value of a claim can be mapped to. */
export const maxMappedNames = 64;
