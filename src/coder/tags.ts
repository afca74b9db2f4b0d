import type { Tags } from "./provisioning.ts";

const ORGANIZATION_SCOPE: Tags = { scope: "organization", owner: "" };
const NOBODY = "00000000-0000-0000-0000-000000000000";

/** The tags that coderd gives to the daemons of a key. A key belongs to nobody, so that of scope `user` serve nobody. */
export function daemonTags(keyTags: Tags): Tags {
  const given = Object.fromEntries(Object.entries(keyTags).filter(([, value]) => value !== ""));
  return given.scope === "user" ? { ...given, owner: NOBODY } : { ...given, ...ORGANIZATION_SCOPE };
}

/**
 * Whether coderd would hand a job to a daemon of the same organization, as its database function
 * `provisioner_tagset_contains` has it: an untagged job goes to untagged daemons alone, any other to daemons
 * that have all its tags. What kind of provisioner a job needs is not in coderd's API.
 */
export function servesTags(daemon: Tags, job: Tags): boolean {
  const asked = Object.keys(job).length;
  const isUntagged = asked === 2 && contains(job, ORGANIZATION_SCOPE);
  const offered = Object.keys(daemon).length;
  if (isUntagged ? offered !== asked : offered < asked) return false;
  return contains(daemon, job);
}

function contains(all: Tags, some: Tags): boolean {
  for (const key of Object.keys(some)) if (!Object.hasOwn(all, key) || all[key] !== some[key]) return false;
  return true;
}
