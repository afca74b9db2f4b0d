import type { Pod, Stored } from "kube-controller-runtime";
import { redactText } from "../../../coder/redact.ts";
import { adviceOn, type ContainerEnd, type ContainerStatus, endOf } from "./container-end.ts";
import { type PodWarning, stuckCause, stuckSince } from "./stuck.ts";

/** Maximum length of kubelet and scheduler messages in a condition. */
const MAX_TEXT_LENGTH = 300;

/** Time that a pod may wait for a node, as in kstatus. */
const SCHEDULE_MS = 15_000;

const SCHEDULING_ADVICE = "Add nodes, or change resources, nodeSelector, tolerations or affinity.";
const VOLUME_ADVICE =
  "Correct the storage class of the claim, or add a volume for it; run kubectl describe pvc for details.";

const PULL_REASONS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "RegistryUnavailable",
]);

/** Waiting reasons of a container whose image cannot be pulled. */
export const IMAGE_REASONS: ReadonlySet<string> = new Set([
  ...PULL_REASONS,
  "InvalidImageName",
  "ErrImageNeverPull",
]);

const START_REASONS: ReadonlySet<string> = new Set([
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);

/** Registry errors for a missing image, as container runtimes report them. */
const NO_SUCH_IMAGE = /not found|no such image|manifest unknown|does not exist|invalid reference/i;

/**
 * Why a pod is not ready or does not remain ready. The message changes only with the cause. `mayResolve` is set
 * if the cluster may resolve it without a change of the pod, for example when a node joins or a registry
 * recovers.
 */
export type PodProblem =
  | {
      readonly kind: "found";
      readonly message: string;
      readonly mayResolve: boolean;
      /** When it is resolved, unless it happens again. */
      readonly afterMs?: number;
      /** A container ended and has been running again for a short time. */
      readonly isSettling?: true;
    }
  /** It may still resolve; check again after this time. */
  | { readonly kind: "possible"; readonly afterMs: number };

/**
 * Undefined for a pod that is ready, terminating, or starting normally. Warnings, newest first, explain a
 * stuck pod.
 */
export function podProblem(
  pod: Stored<Pod>,
  now: number,
  warnings: readonly PodWarning[] = [],
): PodProblem | undefined {
  const { metadata, status = {} } = pod;
  if (metadata.deletionTimestamp || status.phase === "Succeeded" || status.phase === "Failed")
    return undefined;
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  const problems = [
    ...initContainerStatuses.filter(hasFailed).map((container) => containerProblem(container, pod, now)),
    ...containerStatuses.map((container) => containerProblem(container, pod, now)),
  ].filter((problem) => problem !== undefined);
  return worst(problems) ?? unscheduled(pod, now) ?? abandoned(pod) ?? stuck(pod, now, warnings);
}

/** The first definite problem; problems that may soon be resolved come last. */
export function worst(problems: readonly PodProblem[]): Extract<PodProblem, { kind: "found" }> | undefined {
  const found = problems.filter((problem) => problem.kind === "found");
  return found.find(({ isSettling }) => !isSettling) ?? found[0];
}

/** Delay before a stuck pod without a known cause is checked again. */
const RECHECK_MS = 15_000;

function stuck(pod: Stored<Pod>, now: number, warnings: readonly PodWarning[]): PodProblem | undefined {
  const found = stuckSince(pod);
  if (!found) return undefined;
  if (now < found.dueAt) return { kind: "possible", afterMs: found.dueAt - now };
  const cause = stuckCause(found, warnings, now);
  if (!cause) return { kind: "possible", afterMs: RECHECK_MS };
  const message = `Pod "${pod.metadata.name}": ${sentence(cause.what, cause.detail, cause.advice)}`;
  return { kind: "found", message, mayResolve: true, afterMs: RECHECK_MS };
}

/** An init container that ends with exit code 0 has completed. */
function hasFailed({ state, lastState }: ContainerStatus): boolean {
  return (state?.terminated ?? lastState?.terminated)?.exitCode !== 0;
}

function containerProblem(container: ContainerStatus, pod: Stored<Pod>, now: number): PodProblem | undefined {
  const { metadata } = pod;
  const obstacle = startObstacle(container);
  if (obstacle) {
    const message = `Pod "${metadata.name}": ${obstacle}`;
    return { kind: "found", message, mayResolve: mayBePulledLater(container) };
  }
  const end = endOf(container, pod, now);
  if (!end) return undefined;
  const message = `Pod "${metadata.name}": ${explainEnd(container, end, metadata)}`;
  const found = { kind: "found", message, mayResolve: false } as const;
  if (!end.settling) return found;
  const { leftMs: afterMs, isLooping } = end.settling;
  return { ...found, afterMs, ...(isLooping ? {} : { isSettling: true }) };
}

/** What prevents a container from starting. */
function startObstacle({ name, image, ready, state }: ContainerStatus): string | undefined {
  if (ready) return undefined;
  const { reason = "", message = "" } = state?.waiting ?? {};
  if (IMAGE_REASONS.has(reason)) {
    const advice = "Correct the image, or add the pull secret that its registry requires.";
    return sentence(`image "${short(image)}" cannot be pulled`, pullFailure(message), advice);
  }
  if (!START_REASONS.has(reason)) return undefined;
  const advice = "Create what is missing, or change the spec.";
  return sentence(`container "${name}" cannot be started`, message, advice);
}

function explainEnd(
  { name }: ContainerStatus,
  { how, lastLine }: ContainerEnd,
  { namespace, name: pod }: Stored<Pod>["metadata"],
): string {
  const logs = `See: kubectl -n ${namespace} logs ${pod} -c ${name} --previous`;
  const advice = [adviceOn(lastLine), logs].filter(Boolean).join(" ");
  return sentence(`container "${name}" ${how}`, lastLine, advice);
}

function mayBePulledLater({ state }: ContainerStatus): boolean {
  const { reason = "", message = "" } = state?.waiting ?? {};
  return PULL_REASONS.has(reason) && !NO_SUCH_IMAGE.test(message.slice(0, 2 * MAX_TEXT_LENGTH));
}

/** During back-off, a kubelet repeats the failure after the name of its error. */
function pullFailure(message: string): string {
  if (/^Back-off pulling image/.test(message)) return /ErrImagePull: (.*)$/s.exec(message)?.[1] ?? "";
  return message;
}

function unscheduled({ metadata, status }: Stored<Pod>, now: number): PodProblem | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "False" || scheduled.reason !== "Unschedulable") return undefined;
  const message = withoutPreemption(scheduled.message ?? "");
  const missing = missingClaimAdvice(message);
  const since = Date.parse(String(scheduled.lastTransitionTime ?? metadata.creationTimestamp));
  const afterMs = since + SCHEDULE_MS - now;
  if (!missing && afterMs > 0 && afterMs <= SCHEDULE_MS) return { kind: "possible", afterMs };
  const advice = missing ?? (/unbound immediate/.test(message) ? VOLUME_ADVICE : SCHEDULING_ADVICE);
  return {
    kind: "found",
    message: `Pod "${metadata.name}": ${sentence("it cannot be scheduled", message, advice)}`,
    mayResolve: true,
  };
}

/**
 * A kubelet reports why a pod is not ready. If it stops reporting, the API server only marks the pod as not
 * ready.
 */
function abandoned({ metadata, status }: Stored<Pod>): PodProblem | undefined {
  const { conditions = [], containerStatuses = [] } = status ?? {};
  const ready = conditions.find(({ type }) => type === "Ready");
  const isSilent = ready?.status === "False" && !ready.reason;
  if (!isSilent || containerStatuses.length === 0 || !containerStatuses.every(({ ready }) => ready))
    return undefined;
  const advice = `Recover the node, or delete the pod. See: kubectl -n ${metadata.namespace} get pod ${metadata.name} -o wide`;
  const message = `Pod "${metadata.name}": ${sentence("its node is not responding", "", advice)}`;
  return { kind: "found", message, mayResolve: true };
}

/** Removes the preemption details, which contain changing numbers or repeat the cause. */
function withoutPreemption(message: string): string {
  const [said = ""] = message.split(/ (?:no new claims to deallocate, )?preemption:/);
  return said.replace(/(not found)\. \1\b\.?/, "$1");
}

/** A new node does not provide a missing claim, so there is nothing to wait for. */
function missingClaimAdvice(message: string): string | undefined {
  const [, claim] = /persistentvolumeclaim "([^"]+)" not found/.exec(message) ?? [];
  return claim && `Create PersistentVolumeClaim "${claim}", or correct spec.volumes.`;
}

function sentence(what: string, detail: string, advice: string): string {
  const said = short(detail).replace(/[.\s]+$/, "");
  return `${what}${said && `: ${said}`}. ${advice}`;
}

/** Truncates the text to one line before it is searched for secrets. */
export function short(text: string, limit = MAX_TEXT_LENGTH): string {
  const line = redactText(text, 2 * limit)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}
