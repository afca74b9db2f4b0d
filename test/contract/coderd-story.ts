import type { Recording } from "./coderd-recordings.ts";

/** The order in which the recordings make one story: each leaves the state the next was recorded in. */
export const STORY: Readonly<Record<string, readonly string[]>> = {
  "an empty database": [
    ...["first-user-none", "first-user-bad-fields", "first-user-empty", "first-user-weak-password"],
    ...["first-user-long-password", "first-user-create", "first-user-there", "first-user-create-again"],
    ...["first-user-login-wrong", "first-user-login-unknown", "first-user-login"],
    ...[
      "first-user-me",
      "first-user-get",
      "first-user-missing",
      "first-user-logout",
      "first-user-logged-out",
    ],
  ],
  "before any license": [
    ...["healthz", "buildinfo", "route-missing", "users-me", "users-me-no-token", "users-me-bad-token"],
    ...["organizations", "organization-by-name", "organization-default-alias", "organization-missing"],
    ...["bypass-ratelimit", "daemons", "daemons-bad-param", "jobs", "jobs-bad-param", "replicas"],
    "debug-health",
    ...["(import a template)", "jobs-unfinished", "workspaces-empty", "workspaces-organization-alias"],
    ...["entitlements-unlicensed", "entitlements-no-token", "entitlements-bad-token"],
    ...["keys-list-unlicensed", "keys-create-unlicensed"],
    ...[
      "proxies-list-unlicensed",
      "proxies-create-unlicensed",
      "proxy-token-unlicensed",
      "licenses-list-empty",
    ],
    ...["appearance-unlicensed", "appearance-set-unlicensed", "appearance-hidden", "prebuilds-unlicensed"],
    ...["license-add-no-token", "license-add-empty", "license-add-garbage"],
    ...["organization-create-unlicensed", "organization-update-unlicensed", "groups-list-unlicensed"],
    ...["groups-create-unlicensed", "roles-create-unlicensed", "organization-sync-unlicensed"],
    "group-sync-unlicensed",
  ],
  licenses: [
    ...["license-add", "license-add-duplicate", "entitlements-refresh", "entitlements-refresh-again"],
    ...["license-add-second", "licenses-list", "license-delete", "entitlements-premium"],
  ],
  "provisioner keys": [
    ...["keys-list", "keys-create", "keys-create-duplicate", "keys-create-upper", "keys-create-bad-name"],
    ...["keys-create-empty", "keys-create-long-name", "keys-create-128", "keys-create-reserved"],
    ...["keys-list-two", "keys-daemons", "key-by-plaintext", "key-by-plaintext-no-header"],
    ...["key-by-secret", "key-by-secret-unknown", "key-by-secret-short"],
    ...["keys-delete", "keys-delete-missing", "keys-delete-encoded", "keys-list-by-org-name"],
    "keys-list-bad-token",
  ],
  announcements: [
    ...["appearance", "appearance-set", "appearance-two", "appearance-bad-color", "appearance-no-token"],
    ...["appearance-bad-token", "appearance-reset", "appearance-none"],
    ...["prebuilds", "prebuilds-resume-first", "prebuilds-pause", "prebuilds-pause-again"],
    ...["prebuilds-paused", "prebuilds-resume"],
    ...["member-appearance", "member-appearance-set", "member-prebuilds", "member-prebuilds-pause"],
  ],
  "workspace proxies": [
    ...[
      "proxies-list-bad-token",
      "(create p1)",
      "proxies-list",
      "proxy-get",
      "proxy-missing",
      "proxies-create-duplicate",
    ],
    ...["proxy-delete", "proxies-create", "proxy-token-accepted", "proxy-update", "proxy-regenerate"],
    ...["proxy-token-outdated", "proxy-token-missing", "proxies-create-no-icon", "proxies-create-bad-name"],
  ],
  "organizations and their members": [
    ...["organization-create", "organization-create-duplicate", "organization-create-bad-name"],
    ...["organization-create-empty", "organization-create-reserved"],
    ...["organization-create-long-name", "organizations-two", "organization-update"],
    ...["organization-rename", "organization-rename-taken", "organization-rename-bad-name"],
    ...["organization-update-missing", "members-list", "members-list-creator"],
    "members-list-missing",
  ],
  "custom roles": [
    ...["roles-create", "roles-create-duplicate", "roles-create-reserved", "roles-create-bad-name"],
    ...["roles-create-upper", "roles-create-bad-permission", "roles-create-site-permission"],
    ...["roles-update", "roles-update-missing", "roles-list", "roles-delete"],
    "roles-delete-missing",
  ],
  groups: [
    ...["groups-create", "groups-create-plain", "groups-create-duplicate", "groups-create-upper"],
    ...["groups-create-bad-name", "groups-create-empty", "groups-create-reserved"],
    ...["groups-create-new", "groups-create-missing-organization", "groups-update"],
    ...["groups-update-negative-quota", "groups-update-missing", "groups-rename"],
    ...["groups-rename-taken", "groups-rename-reserved", "groups-rename-bad-name", "groups-add"],
    ...["groups-add-again", "groups-add-outsider", "groups-add-unknown", "groups-add-no-id"],
    ...["groups-list", "groups-list-missing-organization", "groups-remove", "groups-remove-again"],
    ...["groups-everyone-quota", "groups-everyone-rename", "groups-everyone-add"],
    ...["groups-everyone-delete", "groups-delete", "groups-delete-missing"],
  ],
  "sign-on": [
    ...["organization-sync", "organization-sync-set", "organization-sync-read"],
    ...["organization-sync-partly", "organization-sync-bad-mapping", "group-sync"],
    ...["group-sync-set", "group-sync-read", "group-sync-partly", "group-sync-bad-filter"],
    ...["group-sync-unknown-group", "group-sync-legacy-mapping", "group-sync-missing-organization"],
    ...["role-sync", "role-sync-set", "role-sync-read", "role-sync-partly"],
  ],
  "the end of an organization": [
    ...["organization-delete-refused", "groups-delete-plain", "organization-delete"],
    ...["organization-delete-missing", "organization-delete-default"],
  ],
  "a member without rights": [
    ...["member-bypass-ratelimit", "member-keys-list", "member-keys-create"],
    ...["member-licenses-list", "member-license-add", "member-proxies-create"],
    ...["member-jobs", "member-daemons", "member-debug-health", "member-workspaces"],
    ...["member-organization-create", "member-organization-update", "member-members-list"],
    ...["member-roles-create", "member-groups-list", "member-groups-create"],
    ...["member-groups-update", "member-organization-sync", "member-organization-sync-set"],
    ...["member-group-sync", "member-group-sync-set", "member-role-sync"],
  ],
  "a token that looks itself up and ends itself": [
    ...["member-tokens-get", "tokens-get-missing", "tokens-delete-missing"],
    ...["member-tokens-delete", "member-tokens-deleted"],
  ],
};

export const PREPARATIONS: Readonly<Record<string, Recording["request"]>> = {
  "(import a template)": {
    method: "POST",
    path: "/api/v2/organizations/<org-id>/templateversions",
    headers: { "Coder-Session-Token": "<session-token>" },
    body: { storage_method: "file", example_id: "scratch", provisioner: "terraform", tags: { pool: "a" } },
  },
  "(create p1)": {
    method: "POST",
    path: "/api/v2/workspaceproxies",
    headers: { "Coder-Session-Token": "<session-token>" },
    body: { name: "p1", display_name: "P1", icon: "/emojis/1f30d.png" },
  },
};
