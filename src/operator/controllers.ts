import type { Controller } from "kube-controller-runtime";
import { controlPlaneController } from "./control-plane/controller.ts";
import { openTenancy, type Tenancy } from "./permissions/tenancy.ts";
import type { CoderPorts } from "./ports.ts";
import { provisionerController } from "./provisioner/controller.ts";
import { queueController } from "./queue/controller.ts";
import { workspaceProxyController } from "./workspace-proxy/controller.ts";

/** All that the operator does, within what `tenancy` allows. */
export function controllers(ports: CoderPorts, tenancy: Tenancy = openTenancy): Controller[] {
  return [
    controlPlaneController(ports, tenancy),
    provisionerController(ports, tenancy),
    workspaceProxyController(ports),
    queueController(ports),
  ];
}
