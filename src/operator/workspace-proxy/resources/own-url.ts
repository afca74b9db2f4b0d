import { clusterAccessURL } from "../../exposure/service.ts";
import { type EnvFromNames, type EnvVar, isUsersOwn } from "../../pods/env.ts";
import type { WorkspaceProxy } from "../spec.ts";

/** The variables by which a proxy learns its own URLs. Where the user sets one, ours stays out. */
export const ownURLVariables = ["CODER_ACCESS_URL", "CODER_WILDCARD_ACCESS_URL"] as const;

/**
 * A proxy reports to coderd under which URL browsers reach it. The exposure knows; a proxy that has none is
 * reached inside the cluster.
 */
export function ownURLEnv(proxy: WorkspaceProxy, envFromNames: EnvFromNames): EnvVar[] {
  const values = { CODER_ACCESS_URL: accessURL(proxy), CODER_WILDCARD_ACCESS_URL: wildcardHost(proxy) };
  return ownURLVariables.flatMap((name) => {
    const value = values[name];
    return value && !isUsersOwn(name, proxy.pod.extraEnv, envFromNames) ? [{ name, value }] : [];
  });
}

/** TLS at a Gateway is configured at the listener, which a route does not show; it is taken for granted. */
function accessURL(proxy: WorkspaceProxy): string {
  const { exposure } = proxy;
  switch (exposure.kind) {
    case "ingress":
      return `${exposure.secretName ? "https" : "http"}://${exposure.host}`;
    case "gateway":
      return `https://${exposure.host}`;
    case "none":
      return clusterAccessURL(proxy);
  }
}

function wildcardHost({ exposure }: WorkspaceProxy): string | undefined {
  return exposure.kind === "none" ? undefined : exposure.wildcardHost;
}
