import type { V1Container } from "@kubernetes/client-node";
import { fingerprint, Pod, type Stored, type Wire } from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { ControlPlane } from "../coderd/settings.ts";
import { childMetadata, commonLabels, labelLength, type Parent, shortName } from "../names.ts";
import { defined, unlessEmpty } from "../normalize.ts";
import { podOwnerByLabels } from "../workload/pods/owned-pods.ts";
import { IMAGE_REASONS, podProblem, short } from "../workload/pods/pod-problem.ts";
import { MAX_REFUSAL } from "../workload/pods/rollout.ts";
import type { PodWarnings } from "../workload/pods/warnings.ts";
import { securityContextOf } from "../workload/presets.ts";
import { versionIn } from "./versions.ts";

/* A short-lived pod pulls the new image and prints its version while the old pods are still running. */

/** Result of the image check. */
export type ImageCheck =
  /** The pod does not exist yet. */
  | { readonly kind: "absent" }
  | { readonly kind: "running"; readonly message: string }
  /** Reason and message of a condition. */
  | { readonly kind: "failed"; readonly reason: string; readonly message: string }
  /** The image was pulled. The version is absent if the program did not print one. */
  | { readonly kind: "pulled"; readonly version?: string | undefined };

/** Label `app.kubernetes.io/name`. The selectors of coderd's pods do not match it. */
const APP = "coder-image-check";
const CONTAINER = "coder";

/** The `coder` program in Coder's image. */
const PROGRAM = "/opt/coder";

/** A shell redirects the output, because a kubelet reads logs only after a failure. */
const SCRIPT = 'exec "$0" "$@" >/dev/termination-log';

/** Pulling a large image takes time, but an abandoned pod must not remain forever. */
const DEADLINE_SECONDS = 60 * 60;

/** Delay before a failed check is repeated. */
const RETRY_MS = 5 * 60_000;

/** Exit codes for a missing program, from the container runtime and from the shell. */
const NOT_STARTED: ReadonlySet<number> = new Set([127, 128]);

const HASH_DIGITS = 10;

function imageCheckLabels(parent: Parent): Record<string, string> {
  return { ...commonLabels(parent), "app.kubernetes.io/name": APP };
}

/** Label value that connects a control plane with its image check pods. */
export function imageCheckOwner(parent: Parent): string {
  return podOwnerByLabels(parent.identity.namespace, imageCheckLabels(parent));
}

/**
 * The pod that checks the new image, with the node and security settings of a coderd pod. Its name depends on
 * the upgrade and the pod spec, so that every process finds it, and a corrected pull secret creates a new
 * pod.
 */
export function imageCheckPod(controlPlane: ControlPlane, { to, startedAt }: UpgradeStatus): Pod {
  const { pod, childName, identity, serviceAccount } = controlPlane;
  const { nodeAffinity } = pod.affinity ?? {};
  const spec = defined({
    restartPolicy: "Never",
    activeDeadlineSeconds: DEADLINE_SECONDS,
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    serviceAccountName: serviceAccount.name,
    priorityClassName: pod.priorityClassName,
    imagePullSecrets: unlessEmpty(pod.imagePullSecrets),
    securityContext: pod.podSecurityContext,
    nodeSelector: pod.nodeSelector,
    tolerations: unlessEmpty(pod.tolerations),
    // Pod affinity could exclude nodes that run pods of the old version.
    affinity: nodeAffinity && { nodeAffinity },
    containers: [checkContainer(controlPlane, to)],
  });
  const suffix = `-image-${fingerprint([identity.uid, startedAt, JSON.stringify(spec)]).slice(0, HASH_DIGITS)}`;
  const metadata = childMetadata(controlPlane, shortName(childName, { suffix, max: labelLength }));
  const labels = { ...metadata.labels, ...imageCheckLabels(controlPlane) };
  return { apiVersion: Pod.apiVersion, kind: Pod.kind, metadata: { ...metadata, labels }, spec };
}

function checkContainer({ pod }: ControlPlane, image: string): Wire<V1Container> {
  const program = unlessEmpty(pod.command) ?? [PROGRAM];
  return defined({
    name: CONTAINER,
    image,
    imagePullPolicy: pod.imagePullPolicy,
    command: ["/bin/sh", "-c", SCRIPT, ...program, "version"],
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: pod.resources,
    securityContext: securityContextOf(pod),
  });
}

type Terminated = NonNullable<
  NonNullable<NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number]["state"]>["terminated"]
>;

export function pullsImage(pod: string | undefined): string {
  return `Pod "${pod}" is pulling the new image.`;
}

/** Returns the result of an image check pod. */
export function imageCheckOf(
  pod: Stored<Pod> | undefined,
  controlPlane: ControlPlane,
  { now, warnings }: { readonly now: number; readonly warnings: PodWarnings },
): ImageCheck {
  if (!pod) return { kind: "absent" };
  const { metadata, status } = pod;
  const waiting = { kind: "running", message: pullsImage(metadata.name) } as const;
  if (metadata.deletionTimestamp) return waiting;
  const container = status?.containerStatuses?.find(({ name }) => name === CONTAINER);
  const ended = container?.state?.terminated;
  if (ended) return verdict(ended, container.image, controlPlane);
  if (status?.phase === "Failed")
    return blocked(`Pod "${metadata.name}" failed before it pulled the new image.`);
  const problem = podProblem(pod, now, warnings.get(metadata.uid));
  if (problem?.kind !== "found") return waiting;
  const isPull = IMAGE_REASONS.has(container?.state?.waiting?.reason ?? "");
  return isPull ? failure("ImagePullFailed", problem.message) : blocked(problem.message);
}

/** A container that ran has pulled its image. Only Coder's own image must be able to print its version. */
function verdict(
  { exitCode, message = "" }: Terminated,
  image: string,
  { pod }: Pick<ControlPlane, "pod">,
): ImageCheck {
  if (exitCode === 0) return { kind: "pulled", version: versionIn(message) };
  if (NOT_STARTED.has(exitCode) || pod.command.length > 0) return { kind: "pulled" };
  const said = short(message).replace(/[.\s]+$/, "");
  return failure(
    "ImageUnusable",
    `Image "${short(image)}" was pulled, but "${PROGRAM} version" fails with exit code ${exitCode}${said && `: ${said}`}. Set spec.image to a Coder image for the platform of the nodes.`,
  );
}

function failure(reason: string, message: string): ImageCheck {
  return { kind: "failed", reason, message };
}

/** The pod cannot run for a reason that may be unrelated to the image. */
function blocked(message: string): ImageCheck {
  return failure("ImageCheckBlocked", message);
}

/**
 * The API server rejected the pod, for example because of a quota or Pod Security. The message contains the
 * name of a pod that does not exist.
 */
export function refusedCheck(message: string, image: string): ImageCheck {
  const words = message.replace(/^.*?pods "[^"]*" is forbidden: /, "");
  const why = short(words, MAX_REFUSAL).replace(/[.\s]+$/, "");
  return blocked(
    `The pod that checks image "${short(image)}" before the upgrade is rejected: ${why}. Allow the pod, or increase the quota by one coderd pod.`,
  );
}

/** Whether the result of a pod is final, or the pod has failed for long enough to retry with another. */
export function isCheckOver({ metadata, status }: Stored<Pod>, now: number): boolean {
  const ageMs = now - Date.parse(String(metadata.creationTimestamp));
  return status?.phase === "Failed" && ageMs >= RETRY_MS;
}
