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
import { podTrouble } from "./pods/pod-trouble.ts";
import type { PodSettings } from "./settings.ts";

/*
 * A container that crashes because of a wrong Secret waits up to five minutes before it reads the corrected one. So while
 * pods fail, everything that they read is watched, and those that fail are replaced when it changes: also one that crashes
 * again and again and happens to be up, which would be reported to fail for minutes.
 */

interface WithConditions {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** What pods that fail would have read. Losing it only means that a kubelet's back-off is waited for. */
export interface StuckMemory {
  stuckInputs?: string;
}

/** Removes a pod; who made it makes another. */
export type RemovePod = (pod: Stored<Pod>) => Promise<void>;

export function removeWith({ client }: Pick<RunContext, "client">): RemovePod {
  return async (pod) => {
    await client.delete(Pod, refOf(pod), { uid: pod.metadata.uid }).catch((error) => {
      // Another one by its name, or none: who made it has replaced it meanwhile.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  };
}

/** Whether the pods of an object were reported to fail. */
export function isStalled({ status }: WithConditions): boolean {
  return findCondition(status?.conditions, workloadConditions.deployment.type)?.reason === "Stalled";
}

/** Pods, and what they read. */
export interface PodsPresent {
  readonly object: WithConditions;
  readonly pods: readonly Stored<Pod>[];
  readonly sources: Sources;
  readonly now: number;
  readonly removePod: RemovePod;
}

export interface StuckParts {
  readonly memory: StuckMemory;
  readonly own: { emit(type: "Normal", reason: string, message: string): void };
}

/** Replaces pods that fail when a Secret or ConfigMap that they read has changed since they were seen to. */
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
  const failing = isCorrected ? pods.filter((each) => podTrouble(each, now)?.kind === "found") : [];
  for (const each of failing) {
    await removePod(each);
    const message = `Replaced failing pod "${each.metadata.name}" because a Secret or ConfigMap that it uses changed.`;
    own.emit("Normal", "PodReplaced", message);
  }
  // Last, so that a pod that could not be removed is tried again.
  memory.stuckInputs = inputs;
}

function versionsOf(pod: PodSettings, sources: Sources): string {
  const versions = podReferences(pod).map(({ kind, name }) => {
    const object = kind === "Secret" ? sources.secret(name) : sources.configMap(name);
    return `${kind}/${name}@${object?.metadata?.resourceVersion ?? "absent"}`;
  });
  return versions.join(" ");
}
