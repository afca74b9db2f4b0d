import type { Service } from "../../../runtime/kinds.ts";
import { commonLabels } from "../../shared/names.ts";
import { service } from "../../shared/service.ts";
import type { ControlPlane } from "../spec.ts";
import { httpContainerPort } from "./deployment.ts";
import { app, metadataOf } from "./metadata.ts";

export function controlPlaneService(controlPlane: ControlPlane): Service {
  const { identity, service: settings } = controlPlane;
  return service(metadataOf(controlPlane, settings.annotations), settings, {
    selector: commonLabels(app, identity.name),
    http: httpContainerPort,
  });
}
