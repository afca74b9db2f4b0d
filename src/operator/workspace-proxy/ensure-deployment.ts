import { blocked, type Deployment } from "kube-controller-runtime";
import { aliasesOfProxies } from "../coderd/address.ts";
import { convergeDeployment } from "../workload/converge-deployment.ts";
import type { EnvVar } from "../workload/env.ts";
import { definedVariables } from "../workload/env-sources.ts";
import type { ServiceState } from "../workload/exposure/ensure-service.ts";
import { clusterIPOf } from "../workload/exposure/service.ts";
import { aliasesFor, type HostAlias } from "../workload/host-aliases.ts";
import {
  type PodChange,
  type PodReport,
  podStatus,
  reportPods,
  reportUnchangedPods,
} from "../workload/pods/report.ts";
import { isSameTemplate } from "../workload/pods/rollout.ts";
import { ownURLVariables, primaryURLVariable, proxyDeployment, tokenChecksum } from "./deployment.ts";
import type { Environment, Snapshot } from "./observe.ts";
import type { Coderd } from "./session.ts";
import { tokenKeyOf } from "./spec.ts";
import type { WorkspaceProxyResult } from "./status.ts";

interface ProxyInputs extends PodChange {
  readonly coderd: Coderd | undefined;
  readonly token: string | undefined;
  readonly service: ServiceState | undefined;
}

/**
 * Applies the proxy's Deployment and reports its available pods. Does not change running pods while it waits.
 */
export async function ensureDeployment(
  snapshot: Snapshot,
  environment: Environment,
  { coderd, token, mayChange, service }: ProxyInputs,
): Promise<WorkspaceProxyResult<PodReport>> {
  const { proxy, deployment, sources } = snapshot;
  if (!mayChange) return reportUnchangedPods(deployment, proxy, snapshot);
  const secret = tokenKeyOf(proxy);
  if (!coderd || !token || !secret) {
    if (deployment) return reportPods(deployment, proxy, snapshot);
    return {
      ...blocked("Pending", "Waiting for coderd and the token of the proxy."),
      status: podStatus(undefined, proxy),
    };
  }
  const { clusterDomain } = environment.ports;
  const desired = proxyDeployment(proxy, {
    image: proxy.image ?? coderd.image,
    primaryAccessURL: proxy.primaryAccessURL ?? keptURL(coderd, deployment) ?? coderd.accessURL,
    token: secret,
    tokenChecksum: tokenChecksum(token),
    envFromNames: definedVariables(ownURLVariables, proxy.pod, { sources, deployment }),
    clusterDomain,
    clusterIP: service ? service.clusterIP : clusterIPOf(snapshot.service),
    hostAliases: aliasesOf(coderd, snapshot, clusterDomain),
  });
  const applied = await convergeDeployment(snapshot, environment, { desired, pod: proxy.pod });
  const isSame = isSameTemplate(deployment, applied, snapshot.object.status?.conditions);
  return reportPods(applied, proxy, { ...snapshot, isSameTemplate: isSame });
}

/**
 * A proxy that does not reach coderd ends, so pods keep the URL that they dial until those of the control plane serve the
 * new one.
 */
function keptURL(
  { controlPlane, accessURL }: Coderd,
  deployment: Deployment | undefined,
): string | undefined {
  const dialed = dialedURL(deployment);
  return controlPlane?.isRolledOut === false && dialed !== accessURL ? dialed : undefined;
}

function dialedURL(deployment: Deployment | undefined): string | undefined {
  return deployment?.spec?.template.spec?.containers[0]?.env?.find(isPrimaryURL)?.value;
}

/**
 * A URL in the spec is resolved by DNS. The same applies to a URL that pods already use without a host alias,
 * because that path may have a different certificate than coderd. While the required aliases are unknown, or
 * pods keep their URL, keeps the existing ones.
 */
function aliasesOf(
  coderd: Coderd,
  { proxy, deployment, sources }: Snapshot,
  clusterDomain: string,
): readonly HostAlias[] {
  const { controlPlane, accessURL } = coderd;
  const isUsers = proxy.primaryAccessURL || proxy.pod.extraEnv.some(isPrimaryURL);
  if (!controlPlane || isUsers) return [];
  const dialed = dialedURL(deployment);
  const present = aliasesFor(dialed, deployment);
  if (keptURL(coderd, deployment) || (present.length === 0 && dialed === accessURL)) return present;
  return aliasesOfProxies(controlPlane, sources, clusterDomain) ?? present;
}

const isPrimaryURL = ({ name }: EnvVar) => name === primaryURLVariable;
