import type { Pod, Stored } from "kube-controller-runtime";
import { redactText } from "kube-controller-runtime";

/** As much of what a kubelet or scheduler says as a condition shows. */
const MOST_TEXT = 300;

/** A cluster that grows on demand makes room within some time: until then a pod waits as every pod does. */
const ROOM_WAIT_MS = 60_000;

const PULL_REASONS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "RegistryUnavailable",
]);

const IMAGE_REASONS: ReadonlySet<string> = new Set([
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
 * What keeps a pod from becoming ready, as a sentence that stays the same while it is so. What the cluster may resolve
 * without a change of the pod may pass: a node joins, a registry answers again.
 */
export type PodTrouble =
  | { readonly kind: "found"; readonly message: string; readonly mayPass: boolean }
  /** It may still resolve itself: look again after this time. */
  | { readonly kind: "perhaps"; readonly afterMs: number };

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

/** Undefined for a pod that is ready, ends, or starts as pods do. */
export function podTrouble(pod: Stored<Pod>, now: number): PodTrouble | undefined {
  const { metadata, status = {} } = pod;
  if (metadata.deletionTimestamp || status.phase === "Succeeded" || status.phase === "Failed")
    return undefined;
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  for (const container of containers) {
    const message = containerTrouble(container, pod);
    const mayPass = mayBePulledLater(container);
    if (message) return { kind: "found", message: `Pod "${metadata.name}": ${message}`, mayPass };
  }
  return unscheduled(pod, now);
}

function containerTrouble(container: ContainerStatus, pod: Stored<Pod>): string | undefined {
  const { name, image, ready, state, lastState } = container;
  if (ready) return undefined;
  const { reason = "", message = "" } = state?.waiting ?? {};
  if (IMAGE_REASONS.has(reason)) {
    const advice = "Correct the image, or give the pull secret that its registry asks for.";
    return sentence(`image "${short(image)}" can't be pulled`, pullFailure(message), advice);
  }
  if (START_REASONS.has(reason)) {
    return sentence(
      `container "${name}" can't be started`,
      message,
      "Create what is missing, or change the spec.",
    );
  }
  const crash = failed(state?.terminated) ?? failed(lastState?.terminated);
  if (!crash) return undefined;
  const logs = `kubectl -n ${pod.metadata.namespace} logs ${pod.metadata.name} -c ${name} --previous`;
  return sentence(`container "${name}" ${crash.how}`, crash.message, `See: ${logs}`);
}

function mayBePulledLater({ state }: ContainerStatus): boolean {
  const { reason = "", message = "" } = state?.waiting ?? {};
  return PULL_REASONS.has(reason) && !NO_SUCH_IMAGE.test(message.slice(0, 2 * MOST_TEXT));
}

type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

function failed(terminated: Terminated | undefined): { how: string; message: string } | undefined {
  if (!terminated || terminated.exitCode === 0) return undefined;
  const { exitCode, reason, message = "" } = terminated;
  if (reason === "OOMKilled")
    return { how: "was killed because it used more memory than its limit", message };
  return { how: `crashes with exit code ${exitCode}`, message };
}

/** A kubelet that waits before it tries again repeats the failure behind the name of its error. */
function pullFailure(message: string): string {
  if (/^Back-off pulling image/.test(message)) return /ErrImagePull: (.*)$/s.exec(message)?.[1] ?? "";
  return message;
}

function unscheduled({ metadata, status }: Stored<Pod>, now: number): PodTrouble | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "False" || scheduled.reason !== "Unschedulable") return undefined;
  const since = Date.parse(String(scheduled.lastTransitionTime ?? metadata.creationTimestamp));
  const afterMs = since + ROOM_WAIT_MS - now;
  if (afterMs > 0 && afterMs <= ROOM_WAIT_MS) return { kind: "perhaps", afterMs };
  // What preemption would bring is one more sentence with numbers that change.
  const message = (scheduled.message ?? "").split(" preemption:")[0] ?? "";
  const advice = "Add nodes, or change resources, nodeSelector, tolerations or affinity.";
  return {
    kind: "found",
    message: `Pod "${metadata.name}": ${sentence("no node takes it", message, advice)}`,
    mayPass: true,
  };
}

function sentence(what: string, detail: string, advice: string): string {
  const said = short(detail).replace(/[.\s]+$/, "");
  return `${what}${said && `: ${said}`}. ${advice}`;
}

/** Cut before it is searched for secrets, in one line. */
export function short(text: string): string {
  const line = redactText(text.slice(0, 2 * MOST_TEXT))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > MOST_TEXT ? `${line.slice(0, MOST_TEXT)}…` : line;
}
