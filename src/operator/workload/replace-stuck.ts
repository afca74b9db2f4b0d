import {
  type Condition,
  findCondition,
  isConflict,
  isNotFound,
  Pod,
  type RunContext,
  refOf,
  type Stored,
} from "kube-controller-runtime";
import { workloadConditions } from "../conditions.ts";
import type { Sources } from "../sources.ts";
import { podReferences } from "./pod-references.ts";
import { podProblem } from "./pods/pod-problem.ts";
import type { PodSettings } from "./settings.ts";

/*
 * A container that crashes because of a wrong Secret waits up to five minutes before it reads the corrected
 * one. Therefore, while pods fail, the operator watches everything that they read, and replaces failing pods
 * after a change. This includes crash-looping pods that are currently running, which would otherwise be
 * reported as failing for minutes.
 */

interface WithConditions {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The inputs of failing pods. If they are lost, the kubelet's back-off applies. */
export interface FailingPodsMemory {
  stuckInputs?: string;
}

/** Deletes a pod, which its ReplicaSet replaces. */
export type RemovePod = (pod: Stored<Pod>) => Promise<void>;

export function removeWith({ client }: Pick<RunContext, "client">): RemovePod {
  return async (pod) => {
    await client.delete(Pod, refOf(pod), { uid: pod.metadata.uid }).catch((error) => {
      // The pod was already replaced.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  };
}

/** Whether the pods of an object were reported as failing. */
export function isStalled({ status }: WithConditions): boolean {
  return findCondition(status?.conditions, workloadConditions.deployment.type)?.reason === "Stalled";
}

/** Pods and their settings. */
export interface PodsPresent {
  readonly object: WithConditions;
  readonly pods: readonly Stored<Pod>[];
  readonly sources: Sources;
  readonly now: number;
  readonly removePod: RemovePod;
}

export interface StuckParts {
  readonly memory: FailingPodsMemory;
  readonly own: { emit(type: "Normal", reason: string, message: string): void };
}

/** Replaces failing pods when a Secret or ConfigMap that they read changes. */
export async function replaceStuck(
  { object, pods, sources, now, removePod }: PodsPresent,
  { memory, own }: StuckParts,
  pod: PodSettings,
): Promise<void> {
  if (!isStalled(object)) {
    delete memory.stuckInputs;
    return;
  }
  const before = memory.stuckInputs;
  const inputs = versionsOf(pod, sources);
  const isCorrected = before !== undefined && before !== inputs;
  const failing = isCorrected ? pods.filter((each) => podProblem(each, now)?.kind === "found") : [];
  for (const each of failing) {
    await removePod(each);
    const message = `Replaced failing pod "${each.metadata.name}" because a Secret or ConfigMap that it uses changed.`;
    own.emit("Normal", "PodReplaced", message);
  }
  // Last, so that a pod that could not be deleted is retried.
  memory.stuckInputs = inputs;
}

function versionsOf(pod: PodSettings, sources: Sources): string {
  const versions = podReferences(pod).map(({ kind, name }) => {
    const object = kind === "Secret" ? sources.secret(name) : sources.configMap(name);
    return `${kind}/${name}@${object?.metadata?.resourceVersion ?? "absent"}`;
  });
  return versions.join(" ");
}
