/** Longest name of a provisioner key that coderd takes. */
export const maxKeyNameLength = 64;

/** Names that coderd keeps for its own keys, in any case. */
export const reservedKeyNames = ["built-in", "user-auth", "psk"] as const;

/** Longest message of the banner during an upgrade. */
export const maxBannerLength = 1_024;

/** More replicas than this are not told apart by their host names. */
export const maxUpgradeHosts = 100;
