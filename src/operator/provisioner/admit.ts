import {
  type Client,
  isConflict,
  isNotFound,
  Pod,
  refOf,
  type Stored,
  subresource,
  timestamp,
} from "kube-controller-runtime";
import { timeOf } from "../workload/pods/container-end.ts";
import { isSteadyPod, templateOf } from "../workload/pods/owned-pods.ts";
import { podProblem } from "../workload/pods/pod-problem.ts";
import { daemonContainer } from "./daemon-container.ts";

/**
 * Readiness gate of a pool's pods: coderd lists the daemon with the current key. It makes a rollout keep the
 * old daemons until the new ones are connected. The condition is set once in the lifetime of a pod.
 */
export const DAEMON_CONNECTED = "coder.com/daemon-connected";

const PodStatus = subresource<Pod>(Pod, { name: "status", apiVersion: "v1", kind: "Pod" });

/** Whether the pod would be ready without the gate, according to its kubelet. */
export function awaitsAdmission({ metadata, status }: Stored<Pod>): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const isGated = ready?.status === "False" && ready.reason === "ReadinessGatesNotReady";
  return (
    isGated && metadata.deletionTimestamp === undefined && (ready.message ?? "").includes(DAEMON_CONNECTED)
  );
}

/**
 * A daemon that lacks something at startup, such as Terraform, ends after about 15 s, although coderd lists
 * it immediately.
 */
const MIN_RUN_MS = 30_000;

interface Candidates {
  readonly pods: readonly Stored<Pod>[];
  readonly now: number;
  readonly admit: Admit;
}

/**
 * Opens the gate of pods whose daemons are connected, and returns the delay until the others are checked
 * again. A pod that would replace an available one must run for a while first; if none can be lost, the gate
 * opens immediately.
 */
export async function admitAll(
  candidates: readonly Stored<Pod>[],
  { pods, now, admit }: Candidates,
  because: "Listed" | "NotAsked",
): Promise<number> {
  const serving = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && isSteadyPod(pod, now));
  const left: number[] = [];
  for (const pod of candidates.filter(awaitsAdmission)) {
    const isReplacing = serving.some((other) => templateOf(other) !== templateOf(pod));
    const leftMs = isReplacing ? unprovenMs(pod, now) : 0;
    if (leftMs > 0) left.push(leftMs);
    else await admit(pod, because);
  }
  return Math.min(...left);
}

function unprovenMs(pod: Stored<Pod>, now: number): number {
  const problem = podProblem(pod, now);
  if (problem?.kind === "found") return problem.afterMs ?? MIN_RUN_MS;
  const startedAt = timeOf(daemonContainer(pod)?.state?.running?.startedAt);
  return startedAt === undefined ? 0 : Math.min(startedAt + MIN_RUN_MS - now, MIN_RUN_MS);
}

/** Opens the readiness gate of a pod. */
export type Admit = (pod: Stored<Pod>, because: "Listed" | "NotAsked") => Promise<void>;

const MESSAGES = {
  Listed: "coderd lists the daemon with the current key.",
  NotAsked: "The operator is not permitted to list daemons, so a running container counts as connected.",
};

/** Applies only this condition, so that the kubelet's conditions are not changed. Ignores deleted pods. */
export function admitWith(client: Client, now: () => number): Admit {
  return async (pod, reason) => {
    const condition = { type: DAEMON_CONNECTED, status: "True", reason, message: MESSAGES[reason] };
    const conditions = [{ ...condition, lastTransitionTime: timestamp(now()) }];
    const { namespace, name } = refOf(pod);
    const metadata = { ...(namespace ? { namespace } : {}), name, uid: pod.metadata.uid };
    const body = { apiVersion: "v1", kind: "Pod", metadata, status: { conditions } };
    await client.apply(PodStatus, body).catch((error) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  };
}
