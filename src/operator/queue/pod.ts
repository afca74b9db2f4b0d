import type { Pod, Stored } from "kube-controller-runtime";
import type { PoolPod } from "./pool.ts";

/** A pod as the decision sees it. `daemonName` is what its daemon calls itself at coderd. */
export function poolPod({ metadata, status }: Stored<Pod>, daemonName: string): PoolPod {
  const running = status?.containerStatuses?.find(({ state }) => state?.running)?.state?.running;
  const refused = status?.conditions?.find(
    ({ type, status: isScheduled, reason }) =>
      type === "PodScheduled" && isScheduled === "False" && reason === "Unschedulable",
  );
  const unschedulableSince = refused && timeOf(refused.lastTransitionTime);
  return {
    name: daemonName,
    isLeaving: metadata.deletionTimestamp !== undefined,
    isReady:
      status?.conditions?.some(({ type, status: state }) => type === "Ready" && state === "True") ?? false,
    ...(running ? { startedAt: timeOf(running.startedAt) } : {}),
    ...(unschedulableSince === undefined ? {} : { unschedulableSince }),
  };
}

/** A time that nobody gave is as long ago as can be. */
function timeOf(time: string | undefined): number {
  return time === undefined ? 0 : Date.parse(time);
}
