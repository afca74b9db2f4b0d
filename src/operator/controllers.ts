import type { Controller } from "../runtime/controller/controller.ts";
import { controlPlaneController } from "./control-plane/controller.ts";

/** All that the operator does. */
export function controllers(): Controller[] {
  return [controlPlaneController()];
}
