import type { Pod, Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { type ContainerStatus, timeOf } from "../workload/pods/container-end.ts";

/** The name of the container with the daemon. */
export const CONTAINER = "provisioner";

export function daemonContainer({ status }: Pick<Stored<Pod>, "status">): ContainerStatus | undefined {
  const containers = status?.containerStatuses ?? [];
  return containers.find(({ name }) => name === CONTAINER) ?? containers[0];
}

/** The keys that daemons of a provisioner use or used. */
export function keyIdsOf({ status }: Pick<Stored<CoderProvisioner>, "status">): string[] {
  const retired = (status?.retiredKeys ?? []).map(({ id }) => id);
  return [status?.provisionerKeyID, ...retired].filter((id) => id !== undefined);
}

/** Builds that a daemon of the pod began before this time are lost, although the pod is there: their daemon has ended. */
export function lostBefore(pod: Pick<Stored<Pod>, "status">): number {
  const container = daemonContainer(pod);
  if (container && !container.state?.running) return Number.POSITIVE_INFINITY;
  const startedAt = container?.lastState?.terminated && timeOf(container.state?.running?.startedAt);
  return startedAt ?? Number.NEGATIVE_INFINITY;
}
