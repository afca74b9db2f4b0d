import type { Pod, Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { type ContainerStatus, timeOf } from "../workload/pods/container-end.ts";

/** Name of the daemon container. */
export const CONTAINER = "provisioner";

export function daemonContainer({ status }: Pick<Stored<Pod>, "status">): ContainerStatus | undefined {
  const containers = status?.containerStatuses ?? [];
  return containers.find(({ name }) => name === CONTAINER) ?? containers[0];
}

/** IDs of the current and earlier keys of a provisioner. */
export function keyIdsOf({ status }: Pick<Stored<CoderProvisioner>, "status">): string[] {
  const retired = (status?.retiredKeys ?? []).map(({ id }) => id);
  return [status?.provisionerKeyID, ...retired].filter((id) => id !== undefined);
}

/**
 * Builds of the pod that started before this time are lost, although the pod still exists, because their
 * daemon has ended.
 */
export function lostBefore(pod: Pick<Stored<Pod>, "status">): number {
  const container = daemonContainer(pod);
  if (container && !container.state?.running) return Number.POSITIVE_INFINITY;
  const startedAt = container?.lastState?.terminated && timeOf(container.state?.running?.startedAt);
  return startedAt ?? Number.NEGATIVE_INFINITY;
}
