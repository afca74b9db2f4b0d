import { blocked } from "kube-controller-runtime";
import { workspaceProxyDefaults } from "../../api/v1alpha1/defaults.ts";
import { accessURLOf } from "../coderd/address.ts";
import { findControlPlane } from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { followedImage, followerKey } from "../upgrade/followers.ts";
import type { Snapshot } from "./observe.ts";
import type { Coderd } from "./session.ts";
import type { WorkspaceProxyResult } from "./status.ts";

/** Finds the coderd in the spec, by reference or by URL. */
export async function findCoderd(
  { controlPlane, proxy, sources }: Snapshot,
  { ports }: { readonly ports: Pick<CoderPorts, "clusterDomain"> },
): Promise<WorkspaceProxyResult<Coderd>> {
  const { credentials, identity, primaryAccessURL } = proxy;
  if (credentials.kind === "controlPlane") {
    const { name } = credentials;
    const { value, ...found } = findControlPlane(
      { namespace: identity.namespace, name },
      controlPlane,
      ports,
    );
    if (!value) return found;
    const { url, settings } = value;
    const accessURL = accessURLOf(settings, sources, ports.clusterDomain);
    const image = followedImage(value, followerKey("workspaceproxy", identity.name));
    return { ...found, value: { url, accessURL, image, controlPlane: value } };
  }
  const url = credentials.kind === "bootstrap" ? credentials.coderURL : primaryAccessURL;
  if (!url || credentials.kind === "none") return blocked("NotConfigured", notConfigured);
  return {
    condition: { status: "True", reason: "Given", message: `coderd is at ${url}.` },
    value: { url, accessURL: url, image: workspaceProxyDefaults.image },
  };
}

const notConfigured =
  "The spec does not specify a coderd; set spec.controlPlaneRef, spec.bootstrap, or spec.proxySessionTokenSecretRef with spec.primaryAccessURL.";
