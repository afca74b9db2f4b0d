import {
  applied,
  blocked,
  type Deployment,
  type Owner,
  type RunContext,
  Service,
  type StepResult,
  type Stored,
} from "kube-controller-runtime";
import { type Served, service } from "./service.ts";

/**
 * Keeps the Service in front of the pods. One that somebody hands over sends people to other pods, so it is
 * taken only when as many of ours are ready as the spec wants: at no moment it is without a ready one.
 */
export async function ensureService(
  served: Served & { readonly replicas: number },
  { owner, deployment }: { readonly owner: Owner; readonly deployment: Stored<Deployment> | undefined },
  { children }: RunContext,
): Promise<StepResult<object>> {
  const desired = service(served);
  const isOurs = deployment !== undefined && children.owns(deployment, owner);
  const ready = isOurs ? (deployment.status?.readyReplicas ?? 0) : 0;
  const leaveHandedOver = ready === 0 || ready < served.replicas;
  const present = await children.apply(Service, desired, owner, { leaveHandedOver });
  if (!children.owns(present, owner)) return handOverPending(served);
  await children.converge(Service, [desired], owner);
  return applied(`Service "${served.childName}" serves port ${served.service.port}`);
}

function handOverPending({ childName }: Served): StepResult<object> {
  const message = `Service "${childName}" is handed over and switches to the new pods when these are ready.`;
  return blocked("HandOverPending", message);
}
