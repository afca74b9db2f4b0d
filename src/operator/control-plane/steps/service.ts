import type { RunContext } from "../../../runtime/controller/controller.ts";
import { Service } from "../../../runtime/kinds.ts";
import { service } from "../../shared/service.ts";
import type { Snapshot } from "../observe.ts";
import { applied, type Result } from "./result.ts";

/** Keeps the Service in front of coderd. */
export async function ensureService(
  { controlPlane, owner }: Snapshot,
  { children }: RunContext,
): Promise<Result> {
  await children.converge(Service, [service(controlPlane)], owner);
  return applied(`Service "${controlPlane.childName}" serves port ${controlPlane.service.port}`);
}
