import { httpRoute } from "../../shared/expose.ts";
import type { HTTPRoute } from "../../shared/gateway.ts";
import { plainHttpPort } from "../../shared/service.ts";
import type { ControlPlane } from "../spec.ts";
import { metadataOf } from "./metadata.ts";

export function controlPlaneHTTPRoute(controlPlane: ControlPlane): HTTPRoute | undefined {
  const { childName, exposure, service } = controlPlane;
  if (exposure.kind !== "gateway") return undefined;
  return httpRoute(metadataOf(controlPlane), exposure, {
    serviceName: childName,
    port: plainHttpPort(service),
  });
}
