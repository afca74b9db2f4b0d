import { type Deployment, fnv1a32 } from "kube-controller-runtime";
import type { SecretKey } from "../normalize.ts";
import { anyAddress } from "../workload/address-family.ts";
import { deployment } from "../workload/deployment.ts";
import { type EnvFromNames, type EnvVar, isSetByUser } from "../workload/env.ts";
import { exposedURL } from "../workload/exposure/expose.ts";
import { clusterAccessURL } from "../workload/exposure/service.ts";
import type { HostAlias } from "../workload/host-aliases.ts";
import { httpContainerPort, type WorkspaceProxy } from "./spec.ts";

export const primaryURLVariable = "CODER_PRIMARY_ACCESS_URL";

/** Variables with the URLs of the proxy. The operator does not set those that the user sets. */
export const ownURLVariables = ["CODER_ACCESS_URL", "CODER_WILDCARD_ACCESS_URL"] as const;

/** Inputs from the cluster and coderd, in addition to the spec. */
export interface DeploymentInputs {
  readonly image: string;
  /** URL of the coderd that the proxy belongs to. */
  readonly primaryAccessURL: string;
  readonly token: SecretKey;
  /** Rolls out a new token; see `tokenChecksum`. */
  readonly tokenChecksum: string;
  readonly envFromNames: EnvFromNames;
  readonly clusterDomain: string;
  /** IP address of the proxy's Service, if known. */
  readonly clusterIP?: string | undefined;
  readonly hostAliases?: readonly HostAlias[];
}

export function tokenChecksum(token: string): string {
  return fnv1a32(token);
}

export function proxyDeployment(proxy: WorkspaceProxy, inputs: DeploymentInputs): Deployment {
  const { childName, derpOnly, pod, replicas } = proxy;
  const { clusterIP, hostAliases = [] } = inputs;
  return deployment({
    parent: proxy,
    name: childName,
    replicas,
    podAnnotations: { "checksum/proxy-token": inputs.tokenChecksum },
    program: {
      name: "workspace-proxy",
      image: inputs.image,
      // The image's entrypoint ends with `server`, which would treat `wsproxy` as an argument.
      command: ["/opt/coder"],
      subcommand: ["wsproxy", "server"],
      args: [
        `--http-address=${anyAddress(clusterIP)}:${httpContainerPort.containerPort}`,
        ...(derpOnly ? ["--derp-only"] : []),
      ],
      env: [...primaryEnv(inputs), ...ownURLEnv(proxy, inputs)],
      ports: [httpContainerPort],
      health: { path: "/healthz", port: "http" },
    },
    pod,
    hostAliases,
    clusterIP,
  });
}

function primaryEnv({ primaryAccessURL, token: { name, key } }: DeploymentInputs): EnvVar[] {
  return [
    { name: primaryURLVariable, value: primaryAccessURL },
    { name: "CODER_PROXY_SESSION_TOKEN", valueFrom: { secretKeyRef: { name, key } } },
  ];
}

/**
 * A proxy reports its URL for browsers to coderd: that of the exposure or, without one, the in-cluster URL.
 */
function ownURLEnv(
  proxy: WorkspaceProxy,
  { envFromNames, clusterDomain }: Pick<DeploymentInputs, "envFromNames" | "clusterDomain">,
): EnvVar[] {
  const accessURL = exposedURL(proxy.exposure) ?? clusterAccessURL(proxy, clusterDomain);
  const values = { CODER_ACCESS_URL: accessURL, CODER_WILDCARD_ACCESS_URL: wildcardHost(proxy) };
  return ownURLVariables.flatMap((name) => {
    const value = values[name];
    return value && !isSetByUser(name, proxy.pod.extraEnv, envFromNames) ? [{ name, value }] : [];
  });
}

function wildcardHost({ exposure }: WorkspaceProxy): string | undefined {
  return exposure.kind === "none" ? undefined : exposure.wildcardHost;
}
