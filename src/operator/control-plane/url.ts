import { clusterAccessURL, clusterURL, type ServiceAddress } from "../shared/service.ts";
import type { ControlPlane } from "./spec.ts";

/** The URL that status shows, and under which the operator and its other kinds reach coderd. */
export function controlPlaneURL(controlPlane: ControlPlane): string {
  return clusterURL(addressOf(controlPlane));
}

/** The URL that coderd takes for its own unless the user names another. */
export function defaultAccessURL(controlPlane: ControlPlane): string {
  return clusterAccessURL(addressOf(controlPlane));
}

function addressOf({ childName, identity, service }: ControlPlane): ServiceAddress {
  return { name: childName, namespace: identity.namespace, port: service.port, tls: service.tls };
}
