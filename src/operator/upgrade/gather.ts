import type { Deployment, Pod } from "kube-controller-runtime";
import { isComplete, rolloutOf, type StallCause } from "../workload/pods/rollout.ts";
import type { PodFacts, UpgradeFacts } from "./facts.ts";
import { type ImageCheck, imageCheckOf, imageCheckPod } from "./image-check.ts";
import type { UpgradeSnapshot } from "./observe.ts";

/** Facts about an upgrade from the snapshot, before any queries. */
export function gatherFacts(snapshot: UpgradeSnapshot): UpgradeFacts {
  const { controlPlane, object, now, deployment, upgrade } = snapshot;
  const { status = {}, metadata } = object;
  return {
    now,
    generation: metadata.generation,
    settings: controlPlane.upgrade,
    wanted: controlPlane.image,
    replicas: controlPlane.replicas,
    present: imageOf(deployment),
    presentReplicas: deployment?.spec?.replicas ?? 1,
    settled: settledImage(snapshot),
    version: status.version,
    record: status.upgrade,
    isKept: upgrade.revisions.some((each) => each.metadata.name === status.upgrade?.previous),
    pods: podFacts(snapshot),
    image: imageCheck(snapshot),
    neighbors: [],
    followers: upgrade.followers,
  };
}

function imageCheck(snapshot: UpgradeSnapshot): ImageCheck {
  const { object, controlPlane, upgrade } = snapshot;
  const name = object.status?.upgrade && imageCheckPod(controlPlane, object.status.upgrade).metadata?.name;
  const pod = upgrade.imageChecks.find(({ metadata }) => metadata.name === name);
  return imageCheckOf(pod, controlPlane, snapshot);
}

/**
 * The image that was rolled out last. Earlier versions of the operator did not record it; their control
 * planes match their spec, even if admission rewrote the image of the Deployment.
 */
function settledImage({ object: { status, metadata }, controlPlane }: UpgradeSnapshot): string | undefined {
  const isReported = status?.observedGeneration === metadata.generation;
  return status?.image ?? (isReported ? controlPlane.image : undefined);
}

/** Image of the coderd container. */
function imageOf(deployment: Deployment | undefined): string | undefined {
  return coderdIn(deployment)?.image;
}

function isProbed(deployment: Deployment | undefined): boolean {
  const { readinessProbe, startupProbe } = coderdIn(deployment) ?? {};
  return readinessProbe !== undefined || startupProbe !== undefined;
}

function coderdIn(deployment: Deployment | undefined) {
  const containers = deployment?.spec?.template.spec?.containers ?? [];
  return containers.find(({ name }) => name === "coder");
}

function podFacts({
  deployment,
  pods,
  refusal,
  upgrade,
  controlPlane,
  now,
  ...snapshot
}: UpgradeSnapshot): PodFacts {
  const { spec, status, metadata } = deployment ?? {};
  const { replicas = 0 } = status ?? {};
  const isObserved = (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0);
  const isRunning = pods.some(runsCoderd);
  // A migrating pod fails its probe until the migration completes.
  const warnings = isRunning ? new Map() : snapshot.warnings;
  const seen = { pods, now, refusal, warnings };
  const stall = rolloutOf(deployment ?? {}, seen) as Partial<StallCause>;
  return {
    names: upgrade.podNames ?? pods.map((pod) => pod.metadata.name),
    isScaledToZero: !deployment || (spec?.replicas === 0 && isObserved && replicas === 0),
    ready: status?.readyReplicas ?? 0,
    isProbed: isProbed(deployment),
    areNewest: isObserved && replicas > 0 && status?.updatedReplicas === replicas,
    images: pods.flatMap(({ status: seen }) => readyImages(seen?.containerStatuses)),
    isComplete: isComplete(deployment) && spec?.replicas === controlPlane.replicas,
    isLate: stall.isLate ?? false,
    isRunning,
    problem: problemOf(stall, isRunning),
  };
}

/** While coderd runs without crashing, a migration may exceed any deadline. */
function problemOf(
  { cause, mayResolve = false, isLate, isSettling }: Partial<StallCause>,
  isRunning: boolean,
): PodFacts["problem"] {
  return cause === undefined || isSettling || (isLate && isRunning)
    ? undefined
    : { message: cause, mayResolve };
}

function runsCoderd({ status }: Pod): boolean {
  return status?.containerStatuses?.some(({ name, state }) => name === "coder" && state?.running) ?? false;
}

function readyImages(containers: NonNullable<Pod["status"]>["containerStatuses"] = []): string[] {
  return containers.filter(({ name, ready }) => name === "coder" && ready).map(({ image }) => image);
}
