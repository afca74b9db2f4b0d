import type { Owner } from "../../../runtime/controller/children.ts";
import type { RunContext } from "../../../runtime/controller/controller.ts";
import type { StepResult } from "../../../runtime/controller/steps.ts";
import { Service } from "../../../runtime/kinds.ts";
import { type Served, service } from "../service.ts";
import { applied } from "./result.ts";

/** Keeps the Service in front of the pods. */
export async function ensureService(
  served: Served,
  owner: Owner,
  { children }: RunContext,
): Promise<StepResult<object>> {
  await children.converge(Service, [service(served)], owner);
  return applied(`Service "${served.childName}" serves port ${served.service.port}`);
}
