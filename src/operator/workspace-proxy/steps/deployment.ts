import { blocked } from "kube-controller-runtime";
import { convergeDeployment } from "../../pods/converge-deployment.ts";
import { definedVariables } from "../../pods/env-sources.ts";
import { leavePods, type PodChange, type PodReport, podStatus, reportPods } from "../../pods/report.ts";
import type { Coderd } from "../coderd.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { proxyDeployment, tokenChecksum } from "../resources/deployment.ts";
import { ownURLVariables } from "../resources/own-url.ts";
import { tokenKeyOf } from "../spec.ts";
import type { WorkspaceProxyResult } from "./result.ts";

interface ProxyInputs extends PodChange {
  readonly coderd: Coderd | undefined;
  readonly token: string | undefined;
}

/** Keeps the proxy's Deployment and reports how many of its pods serve. What runs stays as it is while we wait. */
export async function ensureDeployment(
  snapshot: Snapshot,
  environment: Environment,
  { coderd, token, mayChange }: ProxyInputs,
): Promise<WorkspaceProxyResult<PodReport>> {
  const { proxy, deployment, sources } = snapshot;
  if (!mayChange) return leavePods(deployment, proxy, snapshot);
  const secret = tokenKeyOf(proxy);
  if (!coderd || !token || !secret) {
    if (deployment) return reportPods(deployment, proxy, snapshot);
    return {
      ...blocked("Pending", "Waiting for coderd and for the proxy's token."),
      status: podStatus(undefined, proxy),
    };
  }
  const desired = proxyDeployment(proxy, {
    image: proxy.image ?? coderd.image,
    primaryAccessURL: proxy.primaryAccessURL ?? coderd.accessURL,
    token: secret,
    tokenChecksum: tokenChecksum(token),
    envFromNames: definedVariables(ownURLVariables, proxy.pod, { sources, deployment }),
  });
  const applied = await convergeDeployment(snapshot, environment, desired);
  return reportPods(applied, proxy, snapshot);
}
