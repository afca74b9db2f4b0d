import { type EnvFromNames, type EnvVar, isUsersOwn } from "../workload/env.ts";
import { exposedURL } from "../workload/exposure/expose.ts";
import { clusterAccessURL } from "../workload/exposure/service.ts";
import type { WorkspaceProxy } from "./spec.ts";

/** The variables by which a proxy learns its own URLs. Where the user sets one, ours stays out. */
export const ownURLVariables = ["CODER_ACCESS_URL", "CODER_WILDCARD_ACCESS_URL"] as const;

/**
 * A proxy reports to coderd under which URL browsers reach it. The exposure knows; a proxy that has none is
 * reached inside the cluster.
 */
export function ownURLEnv(
  proxy: WorkspaceProxy,
  { envFromNames, clusterDomain }: { readonly envFromNames: EnvFromNames; readonly clusterDomain: string },
): EnvVar[] {
  const accessURL = exposedURL(proxy.exposure) ?? clusterAccessURL(proxy, clusterDomain);
  const values = { CODER_ACCESS_URL: accessURL, CODER_WILDCARD_ACCESS_URL: wildcardHost(proxy) };
  return ownURLVariables.flatMap((name) => {
    const value = values[name];
    return value && !isUsersOwn(name, proxy.pod.extraEnv, envFromNames) ? [{ name, value }] : [];
  });
}

function wildcardHost({ exposure }: WorkspaceProxy): string | undefined {
  return exposure.kind === "none" ? undefined : exposure.wildcardHost;
}
