import type { RunContext } from "../../../runtime/controller/controller.ts";
import { Service } from "../../../runtime/kinds.ts";
import type { Snapshot } from "../observe.ts";
import { controlPlaneService } from "../resources/service.ts";
import { applied, type Result } from "./result.ts";

/** Keeps the Service in front of coderd. */
export async function ensureService(
  { controlPlane, owner }: Snapshot,
  { children }: RunContext,
): Promise<Result> {
  await children.converge(Service, [controlPlaneService(controlPlane)], owner);
  return applied(`Service "${controlPlane.childName}" serves port ${controlPlane.service.port}`);
}
