import { type Pod, type Stored, timestamp } from "kube-controller-runtime";
import { containerOf } from "./pod.ts";

/** How a container does, in the words of a pod's status. */
export type ContainerState =
  | { readonly kind: "waiting"; readonly reason: string; readonly message?: string }
  | { readonly kind: "running"; readonly startedAt: number; readonly ready: boolean };

/** What the node knows beside the state of the container. */
export interface PodFacts {
  readonly podIP: string;
  readonly startedAt: number;
  /** Since when the pod is as ready as it is now. */
  readonly since: number;
  readonly restarts: number;
  /** Of the container before this one. */
  readonly lastExitCode: number | undefined;
}

/** The status that a kubelet writes for a pod of one container. */
export function podStatus(pod: Stored<Pod>, state: ContainerState, facts: PodFacts): object {
  const ready = isReady(state);
  const { name, image } = containerOf(pod);
  const condition = (type: string, holds: boolean, at: number) => ({
    type,
    status: holds ? "True" : "False",
    lastTransitionTime: timestamp(at),
    ...(holds ? {} : { reason: "ContainersNotReady", message: `containers with unready status: [${name}]` }),
  });
  return {
    phase: state.kind === "waiting" && facts.restarts === 0 ? "Pending" : "Running",
    podIP: facts.podIP,
    podIPs: [{ ip: facts.podIP }],
    startTime: timestamp(facts.startedAt),
    conditions: [
      condition("PodScheduled", true, facts.startedAt),
      condition("Initialized", true, facts.startedAt),
      condition("ContainersReady", ready, facts.since),
      condition("Ready", ready, facts.since),
    ],
    containerStatuses: [
      {
        name,
        image,
        imageID: image,
        ready,
        started: state.kind === "running",
        restartCount: facts.restarts,
        state: containerState(state),
        ...(facts.lastExitCode === undefined
          ? {}
          : { lastState: { terminated: { exitCode: facts.lastExitCode, reason: "Error" } } }),
      },
    ],
  };
}

export function isReady(state: ContainerState): boolean {
  return state.kind === "running" && state.ready;
}

function containerState(state: ContainerState): object {
  return state.kind === "waiting"
    ? { waiting: { reason: state.reason, message: state.message } }
    : { running: { startedAt: timestamp(state.startedAt) } };
}
