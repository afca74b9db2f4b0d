import { type Pod, redactText, type Stored } from "kube-controller-runtime";
import { adviceOn, type ContainerEnd, type ContainerStatus, endOf } from "./container-end.ts";
import { type PodWarning, stuckCause, stuckSince } from "./stuck.ts";

/** As much of what a kubelet or scheduler says as a condition shows. */
const MAX_TEXT_LENGTH = 300;

/** A pod may wait for a node this long, as in kstatus. */
const SCHEDULE_MS = 15_000;

const ROOM_ADVICE = "Add nodes, or change resources, nodeSelector, tolerations or affinity.";
const BIND_ADVICE =
  "Correct the storage class of the claim, or add a volume for it; run kubectl describe pvc for details.";

const PULL_REASONS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "RegistryUnavailable",
]);

/** Why a container waits whose image can't be pulled. */
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

/** What a registry answers when it does not have an image, as container runtimes repeat it. */
const NO_SUCH_IMAGE = /not found|no such image|manifest unknown|does not exist|invalid reference/i;

/**
 * What keeps a pod from becoming ready or staying so, as a sentence that stays the same while it is so. What the cluster
 * may resolve without a change of the pod may pass: a node joins, a registry answers again.
 */
export type PodTrouble =
  | {
      readonly kind: "found";
      readonly message: string;
      readonly mayPass: boolean;
      /** When it is over by itself, unless it happens again. */
      readonly afterMs?: number;
      /** A container has ended, and runs again for less than a while. */
      readonly isSettling?: true;
    }
  /** It may still resolve itself: look again after this time. */
  | { readonly kind: "perhaps"; readonly afterMs: number };

/** Undefined for a pod that is ready, ends, or starts as pods do. Warnings count for one that is stuck, the newest first. */
export function podTrouble(
  pod: Stored<Pod>,
  now: number,
  warnings: readonly PodWarning[] = [],
): PodTrouble | undefined {
  const { metadata, status = {} } = pod;
  if (metadata.deletionTimestamp || status.phase === "Succeeded" || status.phase === "Failed")
    return undefined;
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  const troubles = [
    ...initContainerStatuses.filter(hasFailed).map((container) => containerTrouble(container, pod, now)),
    ...containerStatuses.map((container) => containerTrouble(container, pod, now)),
  ].filter((trouble) => trouble !== undefined);
  return worst(troubles) ?? unscheduled(pod, now) ?? abandoned(pod) ?? stuck(pod, now, warnings);
}

/** The first that was found; what may be over soon comes last. */
export function worst(troubles: readonly PodTrouble[]): Extract<PodTrouble, { kind: "found" }> | undefined {
  const found = troubles.filter((trouble) => trouble.kind === "found");
  return found.find(({ isSettling }) => !isSettling) ?? found[0];
}

/** How soon to look again at a pod that is stuck for a reason that nobody has named. */
const LOOK_AGAIN_MS = 15_000;

function stuck(pod: Stored<Pod>, now: number, warnings: readonly PodWarning[]): PodTrouble | undefined {
  const found = stuckSince(pod);
  if (!found) return undefined;
  if (now < found.dueAt) return { kind: "perhaps", afterMs: found.dueAt - now };
  const cause = stuckCause(found, warnings, now);
  if (!cause) return { kind: "perhaps", afterMs: LOOK_AGAIN_MS };
  const message = `Pod "${pod.metadata.name}": ${sentence(cause.what, cause.detail, cause.advice)}`;
  return { kind: "found", message, mayPass: true, afterMs: LOOK_AGAIN_MS };
}

/** An init container that ends with exit code 0 has done its work. */
function hasFailed({ state, lastState }: ContainerStatus): boolean {
  return (state?.terminated ?? lastState?.terminated)?.exitCode !== 0;
}

function containerTrouble(container: ContainerStatus, pod: Stored<Pod>, now: number): PodTrouble | undefined {
  const { metadata } = pod;
  const obstacle = startObstacle(container);
  if (obstacle) {
    const message = `Pod "${metadata.name}": ${obstacle}`;
    return { kind: "found", message, mayPass: mayBePulledLater(container) };
  }
  const end = endOf(container, pod, now);
  if (!end) return undefined;
  const message = `Pod "${metadata.name}": ${explainEnd(container, end, metadata)}`;
  const found = { kind: "found", message, mayPass: false } as const;
  if (!end.settling) return found;
  const { leftMs: afterMs, isLooping } = end.settling;
  return { ...found, afterMs, ...(isLooping ? {} : { isSettling: true }) };
}

/** What keeps a container from being started at all. */
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

/** A kubelet that waits before it tries again repeats the failure behind the name of its error. */
function pullFailure(message: string): string {
  if (/^Back-off pulling image/.test(message)) return /ErrImagePull: (.*)$/s.exec(message)?.[1] ?? "";
  return message;
}

function unscheduled({ metadata, status }: Stored<Pod>, now: number): PodTrouble | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "False" || scheduled.reason !== "Unschedulable") return undefined;
  const message = withoutPreemption(scheduled.message ?? "");
  const missing = missingClaimAdvice(message);
  const since = Date.parse(String(scheduled.lastTransitionTime ?? metadata.creationTimestamp));
  const afterMs = since + SCHEDULE_MS - now;
  if (!missing && afterMs > 0 && afterMs <= SCHEDULE_MS) return { kind: "perhaps", afterMs };
  const advice = missing ?? (/unbound immediate/.test(message) ? BIND_ADVICE : ROOM_ADVICE);
  return {
    kind: "found",
    message: `Pod "${metadata.name}": ${sentence("it cannot be scheduled", message, advice)}`,
    mayPass: true,
  };
}

/** A kubelet says why a pod is not ready. Without its word the API server calls the pod unready and leaves the rest as it was. */
function abandoned({ metadata, status }: Stored<Pod>): PodTrouble | undefined {
  const { conditions = [], containerStatuses = [] } = status ?? {};
  const ready = conditions.find(({ type }) => type === "Ready");
  const isSilent = ready?.status === "False" && !ready.reason;
  if (!isSilent || containerStatuses.length === 0 || !containerStatuses.every(({ ready }) => ready))
    return undefined;
  const advice = `Recover the node, or delete the pod. See: kubectl -n ${metadata.namespace} get pod ${metadata.name} -o wide`;
  const message = `Pod "${metadata.name}": ${sentence("its node is not responding", "", advice)}`;
  return { kind: "found", message, mayPass: true };
}

/** What preemption would bring is one more sentence, with numbers that change, or repeats the one before. */
function withoutPreemption(message: string): string {
  const [said = ""] = message.split(/ (?:no new claims to deallocate, )?preemption:/);
  return said.replace(/(not found)\. \1\b\.?/, "$1");
}

/** No node that joins brings a claim, so there is nothing to wait for. */
function missingClaimAdvice(message: string): string | undefined {
  const [, claim] = /persistentvolumeclaim "([^"]+)" not found/.exec(message) ?? [];
  return claim && `Create PersistentVolumeClaim "${claim}", or correct spec.volumes.`;
}

function sentence(what: string, detail: string, advice: string): string {
  const said = short(detail).replace(/[.\s]+$/, "");
  return `${what}${said && `: ${said}`}. ${advice}`;
}

/** Cut before it is searched for secrets, in one line. */
export function short(text: string, limit = MAX_TEXT_LENGTH): string {
  const line = redactText(text.slice(0, 2 * limit))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}
