import {
  Deployment,
  findCondition,
  keyOf,
  type ObjectKey,
  type Pod,
  type RunContext,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { daemonTags } from "../../coder/tags.ts";
import { CONTROL_PLANE_INDEX, namedControlPlane } from "../coderd/find-control-plane.ts";
import { provisionerConditions } from "../conditions.ts";
import { isPaused } from "../pause.ts";
import { daemonContainer, keyIdsOf, lostBefore } from "../provisioner/daemon-container.ts";
import { daemonNameOf } from "../provisioner/deployment.ts";
import { type Provisioner, withDefaults } from "../provisioner/spec.ts";
import { isReplacingPods } from "../upgrade/stages.ts";
import { timeOf } from "../workload/pods/container-end.ts";
import { isReadyPod, podsOf } from "../workload/pods/owned-pods.ts";
import { podProblem } from "../workload/pods/pod-problem.ts";
import type { Pool, PoolPod } from "./pool.ts";

/** A pool and its objects. */
export interface PoolSource {
  readonly object: Stored<CoderProvisioner>;
  readonly provisioner: Provisioner;
  /** Its pods, by the names of their daemons. */
  readonly pods: ReadonlyMap<string, Stored<Pod>>;
  readonly pool: Omit<Pool, "history" | "isKeptWarm">;
}

/**
 * Provisioners of a control plane, by the ID of their organization. Provisioners without a key are omitted.
 */
export function organizationsOf(
  controlPlane: ObjectKey,
  { caches }: RunContext,
): Map<string, Stored<CoderProvisioner>[]> {
  const all = caches.of(CoderProvisioner).byIndex(CONTROL_PLANE_INDEX, controlPlane);
  const staying = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const organizations = Map.groupBy(staying, ({ status }) => status?.organizationID ?? "");
  organizations.delete("");
  return organizations;
}

/** Observes the pool of a provisioner from its pods and its Deployment. */
export function observePool(
  object: Stored<CoderProvisioner>,
  { caches, clock }: Pick<RunContext, "caches" | "clock">,
): PoolSource {
  const provisioner = withDefaults(object);
  const { name, namespace } = provisioner.identity;
  const deployment = caches.of(Deployment).get(keyOf({ namespace, name: provisioner.childName }));
  const pods = podsByDaemon(provisioner, caches);
  const pool = {
    name,
    tags: daemonTags(provisioner.tags),
    keyIds: keyIdsOf(object),
    // Without a Deployment, assumes that the requested number is being created.
    replicas: deployment?.spec?.replicas ?? object.status?.desiredReplicas ?? 0,
    pods: [...pods].map(([daemonName, pod]) => poolPod(pod, daemonName, clock.now())),
    isRollingOut: isRollingOut(deployment),
    ...limitsOf(provisioner),
    ...holdReason(object, caches),
  };
  return { object, provisioner, pods, pool };
}

/** Changes if the set of pods or their state changes. */
export function podStates(
  objects: readonly Stored<CoderProvisioner>[],
  { caches, clock }: Pick<RunContext, "caches" | "clock">,
): string {
  const now = clock.now();
  return objects
    .flatMap((object) => podsOf(withDefaults(object), caches))
    .map((pod) => {
      const isFailing = podProblem(pod, now)?.kind === "found";
      return [pod.metadata.uid, isReadyPod(pod), isFailing, lostBefore(pod)].join(" ");
    })
    .sort()
    .join();
}

/** A fixed number is both the minimum and the maximum. */
function limitsOf({ autoscaling, replicas }: Provisioner) {
  const fixed = { min: replicas, max: replicas, minIdle: 0, priority: 0, fallback: undefined };
  if (!autoscaling) return { ...fixed, scaleDownDelayMs: 0, keepWarmMs: 0 };
  const { minReplicas, maxReplicas, minIdle, priority, fallbackReplicas } = autoscaling;
  return {
    min: minReplicas,
    max: maxReplicas,
    minIdle,
    priority,
    fallback: fallbackReplicas,
    scaleDownDelayMs: autoscaling.scaleDownDelaySeconds * 1_000,
    keepWarmMs: minReplicas === 0 ? autoscaling.keepWarmMinutes * 60_000 : 0,
  };
}

/** Without a license, removed daemons could not return, and an upgrade replaces pods itself. */
function holdReason(object: Stored<CoderProvisioner>, caches: RunContext["caches"]): Pick<Pool, "held"> {
  if (isPaused(object)) return { held: "it is paused" };
  const [controlPlane = ""] = namedControlPlane(object);
  if (isReplacingPods(caches.of(CoderControlPlane).get(controlPlane)?.status?.upgrade))
    return { held: "the control plane is being upgraded" };
  const entitled = findCondition(object.status?.conditions, provisionerConditions.entitled.type);
  const isLapsed = entitled?.status === "False" && entitled.reason === "NotEntitled";
  return isLapsed ? { held: "the license does not include external provisioners" } : {};
}

function podsByDaemon(provisioner: Provisioner, caches: RunContext["caches"]): Map<string, Stored<Pod>> {
  return new Map(podsOf(provisioner, caches).map((pod) => [daemonNameOf(provisioner, pod), pod]));
}

/** Whether pods of an earlier template remain. */
function isRollingOut(deployment: Stored<Deployment> | undefined): boolean {
  if (!deployment) return false;
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = deployment.status ?? {};
  return observedGeneration !== deployment.metadata.generation || replicas > updatedReplicas;
}

/** A pod as input of the decision. `daemonName` is the name of its daemon in coderd. */
function poolPod(pod: Stored<Pod>, daemonName: string, now: number): PoolPod {
  const { metadata, status } = pod;
  const problem = podProblem(pod, now);
  const { running } = daemonContainer(pod)?.state ?? {};
  const refused = status?.conditions?.find(
    ({ type, status: isScheduled, reason }) =>
      type === "PodScheduled" && isScheduled === "False" && reason === "Unschedulable",
  );
  return {
    name: daemonName,
    isTerminating: metadata.deletionTimestamp !== undefined,
    isReady: isReadyPod(pod),
    lostBefore: lostBefore(pod),
    // A missing node is handled separately.
    ...(problem?.kind === "found" && !refused ? { problem: problem.message } : {}),
    // A missing time counts as long ago.
    ...(running ? { startedAt: timeOf(running.startedAt) ?? 0 } : {}),
    ...(refused ? { unschedulableSince: timeOf(refused.lastTransitionTime) ?? 0 } : {}),
  };
}
