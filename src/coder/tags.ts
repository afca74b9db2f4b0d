import type { Tags } from "./provisioning.ts";

const ORGANIZATION_SCOPE: Tags = { scope: "organization", owner: "" };
const NO_USER = "00000000-0000-0000-0000-000000000000";

/**
 * Tags that coderd assigns to the daemons of a key. A key has no owner, so tags with scope `user` match no
 * jobs.
 */
export function daemonTags(keyTags: Tags): Tags {
  const given = Object.fromEntries(Object.entries(keyTags).filter(([, value]) => value !== ""));
  return given.scope === "user" ? { ...given, owner: NO_USER } : { ...given, ...ORGANIZATION_SCOPE };
}

/** Tags without those that coderd assigns to every daemon. */
export function distinctiveTags(tags: Tags): Tags {
  return Object.fromEntries(
    Object.entries(tags).filter(([name, value]) => ORGANIZATION_SCOPE[name] !== value),
  );
}

/**
 * Whether coderd would assign a job to a daemon of the same organization, like its database function
 * `provisioner_tagset_contains`: an untagged job requires an untagged daemon; any other job requires a daemon
 * with all its tags. coderd's API does not expose the provisioner type of a job.
 */
export function matchesTags(daemon: Tags, job: Tags): boolean {
  return daemonMatcher(job)(daemon);
}

/** The same for many daemons. Prepares the tags of the job once. */
export function daemonMatcher(job: Tags): (daemon: Tags) => boolean {
  const asked = Object.entries(job);
  const isUntagged = asked.length === 2 && contains(job, Object.entries(ORGANIZATION_SCOPE));
  return (daemon) => contains(daemon, asked) && (!isUntagged || Object.keys(daemon).length === asked.length);
}

/** Inherited properties are not strings, so they match no tag. */
function contains(all: Tags, some: readonly (readonly [string, string])[]): boolean {
  for (const [key, value] of some) if (all[key] !== value) return false;
  return true;
}

/** The tags of a pool. */
interface Offer {
  readonly name: string;
  readonly tags: Tags;
}

/**
 * Returns the offer that lacks the fewest tags of a job that matches no offer, and these tags. Ignores offers that lack
 * none: they have too many tags, as for an untagged job.
 */
export function closestOffer(
  offers: readonly Offer[],
  job: Tags,
): { readonly name: string; readonly missing: Tags } | undefined {
  const lacking = offers
    .map(({ name, tags }) => ({ name, missing: without(job, tags) }))
    .map((each) => ({ ...each, count: Object.keys(each.missing).length }))
    .filter(({ count }) => count > 0);
  const [nearest] = lacking.sort((a, b) => a.count - b.count || (a.name < b.name ? -1 : 1));
  return nearest && { name: nearest.name, missing: nearest.missing };
}

function without(asked: Tags, offered: Tags): Tags {
  return Object.fromEntries(Object.entries(asked).filter(([key, value]) => offered[key] !== value));
}
