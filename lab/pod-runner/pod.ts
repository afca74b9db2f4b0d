import type { V1Container } from "@kubernetes/client-node";
import type { Pod, Stored, Wire } from "kube-controller-runtime";

export type Container = Wire<V1Container>;

/** The only container of a pod: the operator's Deployments have no others. */
export function containerOf(pod: Stored<Pod>): Container {
  const container = pod.spec?.containers[0];
  if (!container) throw new TypeError(`pod ${pod.metadata.name} has no container`);
  return container;
}
