import type { Pod, Stored } from "kube-controller-runtime";
import { type ContainerStatus, timeOf } from "../workload/pods/container-end.ts";

/** The name of the container with the daemon. */
export const CONTAINER = "provisioner";

export function daemonContainer({ status }: Pick<Stored<Pod>, "status">): ContainerStatus | undefined {
  const containers = status?.containerStatuses ?? [];
  return containers.find(({ name }) => name === CONTAINER) ?? containers[0];
}

/** Builds that a daemon of the pod began before this time are lost, although the pod is there: their daemon has ended. */
export function lostBefore(pod: Pick<Stored<Pod>, "status">): number {
  const { state, lastState } = daemonContainer(pod) ?? {};
  const hasEnded = (state?.terminated ?? lastState?.terminated) !== undefined;
  if (!hasEnded) return Number.NEGATIVE_INFINITY;
  return state?.running ? (timeOf(state.running.startedAt) ?? Number.NEGATIVE_INFINITY) : Number.POSITIVE_INFINITY;
}
