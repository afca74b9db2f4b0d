import type { Controller } from "kube-controller-runtime";
import { queueController } from "./autoscaling/controller.ts";
import type { CoderPorts } from "./coderd/ports.ts";
import { controlPlaneController } from "./control-plane/controller.ts";
import { insideControllers } from "./inside/controllers.ts";
import { provisionerController } from "./provisioner/controller.ts";
import { openTenancy, type Tenancy } from "./workload/rbac/tenancy.ts";
import { workspaceProxyController } from "./workspace-proxy/controller.ts";

/** All controllers of the operator, within the limits of `tenancy`. */
export function controllers(ports: CoderPorts, tenancy: Tenancy = openTenancy): Controller[] {
  return [
    controlPlaneController(ports, tenancy),
    provisionerController(ports, tenancy),
    workspaceProxyController(ports),
    queueController(ports),
    ...insideControllers(ports),
  ];
}
