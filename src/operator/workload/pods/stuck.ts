import type { Pod, Stored } from "kube-controller-runtime";

/** A warning event of a pod. */
export interface PodWarning {
  readonly reason: string;
  readonly message: string;
  readonly at: number;
}

/** A container is created within seconds on a node, including its volumes, unless something is missing. */
const START_MS = 5_000;

/** Time for a program to pass its probes. */
const PROBE_MS = 2 * 60_000;

/** A kubelet repeats a warning at least this often while its cause persists. */
const RECENT_MS = 5 * 60_000;

interface Stuck {
  /** Whether its containers do not start, or do not pass their probes. */
  readonly is: "starting" | "unready";
  readonly since: number;
  /** When it counts as stuck. */
  readonly dueAt: number;
}

/** Why a scheduled pod is waiting, if its containers do not report the reason. Undefined for other pods. */
export function stuckSince({ metadata, status }: Stored<Pod>): Stuck | undefined {
  const condition = (name: string) => status?.conditions?.find(({ type }) => type === name);
  const scheduled = condition("PodScheduled");
  const isOver = metadata.deletionTimestamp || status?.phase === "Succeeded" || status?.phase === "Failed";
  if (isOver || scheduled?.status !== "True" || condition("Ready")?.status === "True") return undefined;
  const containers = status?.containerStatuses ?? [];
  const started = containers.flatMap(({ state }) => state?.running?.startedAt ?? []).map(Date.parse);
  if (started.length > 0 && started.length === containers.length) {
    if (containers.every(({ ready }) => ready)) return undefined;
    const since = Math.max(...started);
    return { is: "unready", since, dueAt: since + PROBE_MS };
  }
  const isCreated = containers.some(({ state, lastState }) => state?.terminated ?? lastState?.terminated);
  if (isCreated || status?.initContainerStatuses?.some(({ state }) => state?.running)) return undefined;
  const since = Date.parse(String(scheduled.lastTransitionTime ?? metadata.creationTimestamp));
  return { is: "starting", since, dueAt: since + START_MS };
}

interface Cause {
  readonly reasons: ReadonlySet<string>;
  readonly of: Stuck["is"];
  readonly what: string;
  readonly advice: string;
}

const CAUSES: readonly Cause[] = [
  {
    reasons: new Set(["FailedMount", "FailedAttachVolume", "FailedMapVolume"]),
    of: "starting",
    what: "a volume cannot be mounted",
    advice: "Create what is missing, or change the spec.",
  },
  {
    reasons: new Set(["FailedCreatePodSandBox", "NetworkNotReady"]),
    of: "starting",
    what: "its node cannot create it",
    advice: "Check the network plugin and the container runtime of the node.",
  },
  {
    reasons: new Set(["Unhealthy", "ProbeError"]),
    of: "unready",
    what: "its container is running but fails its probe",
    advice: "Check its log.",
  },
];

/** The cause of a stuck pod from recent warnings, in the order of the pod's lifecycle. */
export function stuckCause(
  { is }: Pick<Stuck, "is">,
  warnings: readonly PodWarning[],
  now: number,
): { readonly what: string; readonly detail: string; readonly advice: string } | undefined {
  const recent = warnings.filter(({ at }) => now - at < RECENT_MS);
  for (const { reasons, of, what, advice } of CAUSES) {
    const warning = of === is ? recent.find(({ reason }) => reasons.has(reason)) : undefined;
    if (warning) return { what, detail: warning.message, advice };
  }
  return undefined;
}
