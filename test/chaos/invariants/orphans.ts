import { secretOf, wishesOf, workloadsOf } from "../fleet.ts";
import { type Evidence, leftBehind, type SeenCoderd } from "./evidence.ts";

/**
 * coderd has no unused key, proxy or group, except those that the operator logged as left behind: deletion is best
 * effort, so an object is deleted even if its coderd, credentials or control plane are unavailable, and the
 * log says what to delete manually.
 */
export function noOrphansAtCoderd(evidence: Evidence): string[] {
  return [...evidence.coderds].flatMap(([name, coderd]) => {
    const orphans = [
      ...unusedKeys(name, coderd, evidence).map((key) => leftBehind("key", key)),
      ...unusedProxies(name, coderd, evidence).map((proxy) => leftBehind("proxy", proxy)),
      ...unusedGroups(coderd, evidence),
    ];
    const unreported = orphans.filter((orphan) => !evidence.reported.has(orphan));
    return unreported.map(
      (orphan) => `the coderd of ${name} has ${orphan}, which no object has and no log message reports`,
    );
  });
}

function unusedKeys(controlPlane: string, { keys }: SeenCoderd, evidence: Evidence): string[] {
  const used = wishesOf(evidence.fleet, "CoderProvisioner")
    .filter((wish) => wish.controlPlane === controlPlane)
    .map((wish) => evidence.secrets.get(secretOf(wish)));
  return keys.filter(({ plaintext }) => !used.includes(plaintext)).map(({ name }) => name);
}

function unusedProxies(controlPlane: string, { proxies }: SeenCoderd, evidence: Evidence): string[] {
  const used = wishesOf(evidence.fleet, "CoderWorkspaceProxy")
    .filter((wish) => wish.controlPlane === controlPlane)
    .map((wish) => wish.proxyName);
  return proxies.filter(({ name }) => !used.includes(name)).map(({ name }) => name);
}

/** The operator names a group by its ID, or by its name if it never learned the ID. */
function unusedGroups({ groups }: SeenCoderd, { objects, reported }: Evidence): string[] {
  const used = new Set([...objects.values()].map(({ status }) => status.id));
  const unused = groups.filter(({ id }) => !used.has(id));
  const byName = unused.filter(({ name }) => reported.has(leftBehind("group", name)));
  return unused.filter((group) => !byName.includes(group)).map(({ id }) => leftBehind("group", id));
}

/** All that the operator made in the cluster belongs to an object of the fleet, and there is one Secret for each. */
export function noOrphansInCluster({ children, fleet, objects }: Evidence): string[] {
  const uids = new Set([...objects.values()].map(({ uid }) => uid));
  const ownerless = children.filter(({ ownerUid }) => !uids.has(ownerUid ?? ""));
  const secrets = new Set(workloadsOf(fleet).map(secretOf));
  const needless = children.filter(({ kind, name }) => kind === "Secret" && !secrets.has(name));
  return [
    ...ownerless.map(({ kind, name }) => `${kind} ${name} has outlived its owner`),
    ...needless.map(({ kind, name }) => `${kind} ${name} is not needed by any object`),
  ];
}
