import { type Pod, type Stored, timestamp } from "kube-controller-runtime";
import { containerOf } from "./pod.ts";

/** The state of a container, in the terms of a pod's status. */
export type ContainerState =
  | { readonly kind: "waiting"; readonly reason: string; readonly message?: string }
  | { readonly kind: "running"; readonly startedAt: number; readonly ready: boolean }
  /** It ended and is not restarted. */
  | { readonly kind: "terminated"; readonly end: ContainerEnd };

/** What the node knows besides the state of the container. */
export interface PodFacts {
  readonly podIP: string;
  readonly startedAt: number;
  /** The time of the last change of readiness. */
  readonly since: number;
  readonly restarts: number;
  /** The end of the previous container. */
  readonly lastEnd: ContainerEnd | undefined;
}

/** How a container exited. */
export interface ContainerEnd {
  readonly exitCode: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  /** The end of its log, if the pod requests it. */
  readonly message?: string;
}

/** The status that a kubelet writes for a pod with one container. */
export function podStatus(pod: Stored<Pod>, state: ContainerState, facts: PodFacts): object {
  const containersReady = isReady(state);
  const { name, image } = containerOf(pod);
  const closed = closedGates(pod);
  const ready = containersReady && closed.length === 0;
  const condition = (type: string, holds: boolean, at: number) => ({
    type,
    status: holds ? "True" : "False",
    lastTransitionTime: timestamp(at),
    ...(holds ? {} : { reason: "ContainersNotReady", message: `containers with unready status: [${name}]` }),
  });
  return {
    phase: phaseOf(state, facts),
    podIP: facts.podIP,
    podIPs: [{ ip: facts.podIP }],
    startTime: timestamp(facts.startedAt),
    conditions: [
      condition("PodScheduled", true, facts.startedAt),
      condition("Initialized", true, facts.startedAt),
      condition("ContainersReady", containersReady, facts.since),
      containersReady && closed.length > 0
        ? gated(closed, facts.since)
        : condition("Ready", ready, facts.since),
      ...gateConditions(pod),
    ],
    containerStatuses: [
      {
        name,
        image,
        imageID: image,
        ready: containersReady,
        started: state.kind === "running",
        restartCount: facts.restarts,
        state: containerState(state),
        ...(facts.lastEnd ? { lastState: { terminated: terminated(facts.lastEnd) } } : {}),
      },
    ],
  };
}

function phaseOf(state: ContainerState, { lastEnd }: PodFacts): string {
  if (state.kind === "terminated") return state.end.exitCode === 0 ? "Succeeded" : "Failed";
  return state.kind === "waiting" && !lastEnd ? "Pending" : "Running";
}

function gatesOf({ spec }: Stored<Pod>): readonly string[] {
  return (spec?.readinessGates ?? []).map(({ conditionType }) => conditionType);
}

/** Conditions of others, which a kubelet does not change. */
function gateConditions(pod: Stored<Pod>): object[] {
  return (pod.status?.conditions ?? []).filter(({ type }) => gatesOf(pod).includes(type));
}

function closedGates(pod: Stored<Pod>): readonly string[] {
  const open = (pod.status?.conditions ?? [])
    .filter(({ status }) => status === "True")
    .map(({ type }) => type);
  return gatesOf(pod).filter((gate) => !open.includes(gate));
}

/** In the words of a kubelet. */
function gated(closed: readonly string[], at: number): object {
  const message = closed
    .map((gate) => `corresponding condition of pod readiness gate "${gate}" does not exist.`)
    .join(", ");
  const reason = "ReadinessGatesNotReady";
  return { type: "Ready", status: "False", lastTransitionTime: timestamp(at), reason, message };
}

function terminated({ exitCode, startedAt, finishedAt, message }: ContainerEnd): object {
  return {
    exitCode,
    reason: exitCode === 0 ? "Completed" : "Error",
    ...(message ? { message } : {}),
    startedAt: timestamp(startedAt),
    finishedAt: timestamp(finishedAt),
  };
}

export function isReady(state: ContainerState): boolean {
  return state.kind === "running" && state.ready;
}

function containerState(state: ContainerState): object {
  switch (state.kind) {
    case "waiting":
      return { waiting: { reason: state.reason, message: state.message } };
    case "running":
      return { running: { startedAt: timestamp(state.startedAt) } };
    case "terminated":
      return { terminated: terminated(state.end) };
  }
}
