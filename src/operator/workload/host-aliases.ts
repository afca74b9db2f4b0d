import type { V1HostAlias } from "@kubernetes/client-node";
import type { Deployment, Wire } from "kube-controller-runtime";

export type HostAlias = Wire<V1HostAlias>;

/**
 * Aliases of the operator, followed by those of the user, which take precedence. Each address occurs once, as
 * Kubernetes requires.
 */
export function mergeAliases(ours: readonly HostAlias[], users: readonly HostAlias[]): HostAlias[] {
  const taken = new Set(users.flatMap(({ hostnames = [] }) => hostnames));
  const free = ours
    .map(({ ip, hostnames = [] }) => ({ ip, hostnames: hostnames.filter((name) => !taken.has(name)) }))
    .filter(({ hostnames }) => hostnames.length > 0);
  const byAddress = Map.groupBy([...free, ...users], ({ ip }) => ip);
  return [...byAddress].map(([ip, all]) => ({
    ip,
    hostnames: all.flatMap(({ hostnames = [] }) => hostnames),
  }));
}

/** The alias in a Deployment for the host of this URL, if any. Other aliases belong to the user. */
export function aliasesFor(url: string | undefined, deployment: Deployment | undefined): HostAlias[] {
  const hostname = url && URL.parse(url)?.hostname;
  const { hostAliases = [] } = deployment?.spec?.template.spec ?? {};
  const found = hostAliases.filter(({ hostnames = [] }) => hostname && hostnames.includes(hostname));
  return found.map(({ ip }) => ({ ip, hostnames: [`${hostname}`] }));
}
