import type { V1HostAlias } from "@kubernetes/client-node";
import type { Deployment, Wire } from "kube-controller-runtime";

export type HostAlias = Wire<V1HostAlias>;

/** Ours, then the user's; a name that both map is the user's. Each address is there once, as Kubernetes asks for. */
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

/** Where pods find the host of this URL, if a Deployment maps it. Its other aliases are the user's. */
export function aliasesFor(url: string | undefined, deployment: Deployment | undefined): HostAlias[] {
  const hostname = url && URL.parse(url)?.hostname;
  const { hostAliases = [] } = deployment?.spec?.template.spec ?? {};
  const found = hostAliases.filter(({ hostnames = [] }) => hostname && hostnames.includes(hostname));
  return found.map(({ ip }) => ({ ip, hostnames: [`${hostname}`] }));
}
