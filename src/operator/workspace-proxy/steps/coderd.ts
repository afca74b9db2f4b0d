import type { RunContext } from "kube-controller-runtime";
import { blocked } from "kube-controller-runtime";
import { workspaceProxyDefaults } from "../../../api/v1alpha1/defaults.ts";
import { accessURLVariable } from "../../control-plane/resources/deployment.ts";
import { type FoundControlPlane, findControlPlane } from "../../control-plane/session.ts";
import type { ControlPlane } from "../../control-plane/spec.ts";
import { clusterAccessURL } from "../../exposure/service.ts";
import { variableValue } from "../../pods/env-sources.ts";
import type { Snapshot } from "../observe.ts";
import type { Result } from "./result.ts";

/** The coderd that the proxy is for. */
export interface Coderd {
  /** Where the operator reaches it. */
  readonly url: string;
  /** What it calls itself: the proxy sends browsers there. */
  readonly accessURL: string;
  /** The image to run when the spec names none. */
  readonly image: string;
  /** Absent when coderd is not one of ours. */
  readonly controlPlane?: FoundControlPlane;
}

/** Finds the coderd that the spec names, by reference or by URL. */
export async function findCoderd({ proxy }: Snapshot, context: RunContext): Promise<Result<Coderd>> {
  const { credentials, identity, primaryAccessURL } = proxy;
  if (credentials.kind === "controlPlane") {
    const { name } = credentials;
    const { value, ...found } = findControlPlane({ namespace: identity.namespace, name }, context);
    if (!value) return found;
    const { url, settings } = value;
    const accessURL = await accessURLOf(settings, context);
    return { ...found, value: { url, accessURL, image: settings.image, controlPlane: value } };
  }
  const url = credentials.kind === "bootstrap" ? credentials.coderURL : primaryAccessURL;
  if (!url || credentials.kind === "none") return blocked("NotConfigured", notConfigured);
  return {
    condition: { status: "True", reason: "Given", message: `coderd is at ${url}, as the spec says` },
    value: { url, accessURL: url, image: workspaceProxyDefaults.image },
  };
}

const notConfigured =
  "nothing says which coderd the proxy is for: give spec.controlPlaneRef, spec.bootstrap, or spec.proxySessionTokenSecretRef with spec.primaryAccessURL";

/** The URL that the user gave coderd, else that of its Service. */
async function accessURLOf(controlPlane: ControlPlane, context: RunContext): Promise<string> {
  const { namespace } = controlPlane.identity;
  const users = await variableValue(accessURLVariable, controlPlane.pod, { namespace, context });
  return (users.kind === "value" && users.value.trim()) || clusterAccessURL(controlPlane);
}
