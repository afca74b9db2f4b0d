import type { V1Container, V1Pod } from "@kubernetes/client-node";
import { kind, type Stored, type Wire } from "kube-controller-runtime";

export type Pod = Wire<V1Pod>;
export type Container = Wire<V1Container>;

export const Pod = kind<Pod>("v1", { kind: "Pod", plural: "pods" });

/** The one container of a pod of ours: no Deployment that the operator makes has more. */
export function containerOf(pod: Stored<Pod>): Container {
  const container = pod.spec?.containers[0];
  if (!container) throw new TypeError(`pod ${pod.metadata.name} has no container`);
  return container;
}
