import { blocked } from "kube-controller-runtime";
import { accessURLOf, accessURLVariable, chosenURL, usersAccessURL } from "../coderd/address.ts";
import { variableSources, variableValue } from "../workload/env-sources.ts";
import type { Environment, Snapshot } from "./observe.ts";
import type { ControlPlaneResult } from "./status.ts";

/**
 * Publishes where people reach coderd, and warns while the environment sends them to another host than the exposure
 * serves. Of a URL no more than scheme, host and port are shown.
 */
export async function compareAccessURL(
  snapshot: Snapshot,
  { ports: { clusterDomain } }: Environment,
): Promise<ControlPlaneResult> {
  const { controlPlane, sources } = snapshot;
  const { exposure } = controlPlane;
  const status = { accessURL: publicOrigin(snapshot, clusterDomain) };
  const users = usersAccessURL(controlPlane, sources);
  const host = users === undefined ? undefined : URL.parse(users)?.hostname;
  if (exposure.kind !== "none" && host !== undefined && host !== exposure.host.toLowerCase()) {
    const message = `CODER_ACCESS_URL sends users to host "${host}", but spec.expose serves host "${exposure.host}"; correct one of them, or remove CODER_ACCESS_URL and set spec.expose.setAccessURL.`;
    return blocked("HostDiffers", message, { status });
  }
  return { status, noCondition: true };
}

/** Nothing where coderd chooses for itself, where the value can't be read, or where a Secret takes part in it. */
function publicOrigin({ controlPlane, sources }: Snapshot, clusterDomain: string): string | undefined {
  if (variableSources("Secret", [accessURLVariable], controlPlane.pod).length > 0) return undefined;
  const { kind } = variableValue(accessURLVariable, controlPlane.pod, sources);
  const isOurs = controlPlane.useClusterAccessURL || chosenURL(controlPlane) !== undefined;
  if (kind !== "value" && !(kind === "undefined" && isOurs)) return undefined;
  const url = URL.parse(accessURLOf(controlPlane, sources, clusterDomain));
  return url && /^https?:$/.test(url.protocol) ? url.origin : undefined;
}
