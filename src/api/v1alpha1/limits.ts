/** Maximum length of a provisioner key name in coderd. */
export const maxKeyNameLength = 64;

/** Names that coderd reserves for its own keys. Not case-sensitive. */
export const reservedKeyNames = ["built-in", "user-auth", "psk"] as const;

/** Maximum length of the banner message of an upgrade. */
export const maxBannerLength = 1_024;

/** The operator records host names only up to this number of replicas. */
export const maxUpgradeHosts = 100;
