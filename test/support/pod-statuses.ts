import { type Pod, timestamp } from "kube-controller-runtime";

type PodStatus = NonNullable<Pod["status"]>;
type ContainerStatus = NonNullable<PodStatus["containerStatuses"]>[number];

/** With what a container ends. */
export interface ContainerEnd {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
}

const container = {
  name: "provisioner",
  image: "coder:tests",
  imageID: "coder@sha256:0",
  ready: true,
  restartCount: 0,
};

function status(ready: boolean, containerStatus: Partial<ContainerStatus>): PodStatus {
  const condition = (type: string) => ({ type, status: ready ? "True" : "False" });
  return {
    phase: "Running",
    conditions: [condition("Ready"), condition("ContainersReady")],
    containerStatuses: [{ ...container, ready, ...containerStatus }],
  };
}

/** The status that a kubelet writes after a container has started or restarted. */
export function runningStatus(
  now: number,
  before: { readonly lastState?: ContainerStatus["lastState"]; readonly restartCount?: number } = {},
): PodStatus {
  const { lastState, restartCount = 0 } = before;
  const state = { running: { startedAt: timestamp(now) } };
  return status(true, { state, restartCount, ...(lastState ? { lastState } : {}) });
}

/** The status that a kubelet writes while a container waits for its restart. */
export function endedStatus(before: PodStatus | undefined, end: ContainerEnd, now: number): PodStatus {
  const [{ state = {}, restartCount = 0 } = {} as Partial<ContainerStatus>] = before?.containerStatuses ?? [];
  const startedAt = state.running?.startedAt ?? timestamp(now);
  const terminated = { reason: "Error", ...end, startedAt, finishedAt: timestamp(now) };
  const message = "back-off 5m0s restarting failed container";
  const waiting = { reason: "CrashLoopBackOff", message };
  return status(false, { state: { waiting }, lastState: { terminated }, restartCount });
}

/** What a kubelet writes when the container runs, and a condition that others have to set is missing. */
export function gatedStatus(now: number, gate: string): PodStatus {
  const message = `corresponding condition of pod readiness gate "${gate}" does not exist.`;
  const ready = { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message };
  return { ...runningStatus(now), conditions: [ready, { type: "ContainersReady", status: "True" }] };
}
