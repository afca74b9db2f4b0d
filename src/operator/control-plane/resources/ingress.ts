import type { Ingress } from "../../../runtime/kinds.ts";
import { ingress } from "../../shared/expose.ts";
import { plainHttpPort } from "../../shared/service.ts";
import type { ControlPlane } from "../spec.ts";
import { metadataOf } from "./metadata.ts";

export function controlPlaneIngress(controlPlane: ControlPlane): Ingress | undefined {
  const { childName, exposure, service } = controlPlane;
  if (exposure.kind !== "ingress") return undefined;
  const metadata = metadataOf(controlPlane, exposure.annotations);
  return ingress(metadata, exposure, { serviceName: childName, port: plainHttpPort(service) });
}
