import type { Controller } from "../runtime/controller/controller.ts";
import { controlPlaneController } from "./control-plane/controller.ts";
import { provisionerController } from "./provisioner/controller.ts";
import type { CoderPorts } from "./shared/ports.ts";
import { workspaceProxyController } from "./workspace-proxy/controller.ts";

/** All that the operator does. */
export function controllers(ports: CoderPorts): Controller[] {
  return [controlPlaneController(ports), provisionerController(ports), workspaceProxyController(ports)];
}
