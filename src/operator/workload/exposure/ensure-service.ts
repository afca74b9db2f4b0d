import {
  applied,
  blocked,
  type Children,
  type Deployment,
  type Owner,
  Service,
  type StepResult,
  type Stored,
} from "kube-controller-runtime";
import { clusterIPOf, selectsOwnPods, service, type WithService } from "./service.ts";

/** State of the Service. */
export interface ServiceState {
  readonly selectsOwnPods: boolean;
  readonly clusterIP: string | undefined;
}

/**
 * Applies the Service of the pods. A Service that is handed over selects other pods, so it is taken over only
 * when all desired pods are ready. It always selects ready pods.
 */
export async function ensureService(
  { owner, deployment }: { readonly owner: Owner; readonly deployment: Stored<Deployment> | undefined },
  { children }: { readonly children: Pick<Children, "apply" | "converge" | "owns"> },
  served: WithService & { readonly replicas: number; readonly deferAdoption?: boolean },
): Promise<StepResult<object, ServiceState>> {
  const desired = service(served);
  const isOurs = deployment !== undefined && children.owns(deployment, owner);
  const ready = isOurs ? (deployment.status?.readyReplicas ?? 0) : 0;
  const deferAdoption = served.deferAdoption || ready === 0 || ready < served.replicas;
  const present = await children.apply(Service, desired, owner, { deferAdoption });
  if (!children.owns(present, owner)) {
    const message = `Service "${served.childName}" is being handed over and will select the new pods when they are ready.`;
    return blocked("HandOverPending", message);
  }
  await children.converge(Service, [desired], owner);
  const message = `Service "${served.childName}" serves port ${served.service.port}.`;
  const value = { selectsOwnPods: selectsOwnPods(served, present), clusterIP: clusterIPOf(present) };
  return { ...applied(message), value };
}
