import type { V1Container } from "@kubernetes/client-node";
import { fingerprint, Pod, type Stored, type Wire } from "kube-controller-runtime";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { ControlPlane } from "../coderd/settings.ts";
import { childMetadata, commonLabels, labelLength, type Parent, shortName } from "../names.ts";
import { defined, unlessEmpty } from "../normalize.ts";
import { podOwnerByLabels } from "../workload/pods/our-pods.ts";
import { IMAGE_REASONS, podTrouble, short } from "../workload/pods/pod-trouble.ts";
import { MAX_REFUSAL } from "../workload/pods/rollout.ts";
import type { PodWarnings } from "../workload/pods/warnings.ts";
import { securityContextOf } from "../workload/presets.ts";
import { versionIn } from "./versions.ts";

/* A short-lived pod pulls the image of an upgrade and prints its version while the old pods still serve. */

/** What is known of the new image. */
export type ImageCheck =
  /** No pod checks it yet. */
  | { readonly kind: "absent" }
  | { readonly kind: "running"; readonly message: string }
  /** Reason and message of a condition. */
  | { readonly kind: "failed"; readonly reason: string; readonly message: string }
  /** It was pulled; the version is absent where its program does not print one. */
  | { readonly kind: "pulled"; readonly version?: string | undefined };

/** The value of `app.kubernetes.io/name`: no selector of coderd's pods matches it. */
const APP = "coder-image-check";
const CONTAINER = "coder";

/** The `coder` program in Coder's image. */
const PROGRAM = "/opt/coder";

/** Redirected by a shell because a kubelet reads a log only after a failure. */
const SCRIPT = 'exec "$0" "$@" >/dev/termination-log';

/** A large image takes its time; a pod that nobody looks after any more must not stay for ever. */
const DEADLINE_SECONDS = 60 * 60;

/** A failed check is repeated after this time. */
const RETRY_MS = 5 * 60_000;

/** Exit codes of a container whose program does not exist, from the container runtime and from the shell. */
const NOT_STARTED: ReadonlySet<number> = new Set([127, 128]);

const HASH_DIGITS = 10;

function imageCheckLabels(parent: Parent): Record<string, string> {
  return { ...commonLabels(parent), "app.kubernetes.io/name": APP };
}

/** The tie by which a control plane and the pods that check its images are found. */
export function imageCheckOwner(parent: Parent): string {
  return podOwnerByLabels(parent.identity.namespace, imageCheckLabels(parent));
}

/**
 * The pod that checks the image of an upgrade where and as a pod of coderd would run. It has one name for one upgrade and
 * one pod spec, so that every process finds it, and a corrected pull secret makes another.
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
    // Rules about other pods would keep it from nodes that the pods of the old version occupy.
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

/** What a pod says of the image that it checks. */
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
  const trouble = podTrouble(pod, now, warnings.get(metadata.uid));
  if (trouble?.kind !== "found") return waiting;
  const isPull = IMAGE_REASONS.has(container?.state?.waiting?.reason ?? "");
  return isPull ? failure("ImagePullFailed", trouble.message) : blocked(trouble.message);
}

/** A container that has run has pulled its image. Only a program of Coder's own image must be able to print its version. */
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

/** The pod that checks the image can't run for a reason that need not be the image. */
function blocked(message: string): ImageCheck {
  return failure("ImageCheckBlocked", message);
}

/** Why the API server refuses the pod, such as a quota or Pod Security. It names a pod that does not exist. */
export function refusedCheck(message: string, image: string): ImageCheck {
  const words = message.replace(/^.*?pods "[^"]*" is forbidden: /, "");
  const why = short(words, MAX_REFUSAL).replace(/[.\s]+$/, "");
  return blocked(
    `The pod that checks image "${short(image)}" before the upgrade is rejected: ${why}. Allow the pod, or increase the quota by one coderd pod.`,
  );
}

/** Whether a pod has said all that it will, or nothing for so long that another may say more. */
export function isCheckOver({ metadata, status }: Stored<Pod>, now: number): boolean {
  const ageMs = now - Date.parse(String(metadata.creationTimestamp));
  return status?.phase === "Failed" && ageMs >= RETRY_MS;
}
