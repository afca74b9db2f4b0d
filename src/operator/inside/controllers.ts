import type { Controller } from "kube-controller-runtime";
import type { CoderPorts } from "../coderd/ports.ts";
import { entityController } from "./controller.ts";
import { groupKind } from "./group/kind.ts";
import { organizationKind } from "./organization/kind.ts";

/** The controllers of all kinds that describe an entity in coderd. */
export function insideControllers(ports: CoderPorts): readonly Controller[] {
  return [entityController(organizationKind, ports), entityController(groupKind, ports)];
}
