import { isNew, isPausedBy, type KubeObject, type Stored } from "kube-controller-runtime";

/** If "true", the operator does nothing for the object, except for its deletion. */
export const PAUSE_ANNOTATION = "coder.com/paused";

export function isPaused(object: KubeObject): boolean {
  return isPausedBy(PAUSE_ANNOTATION, object);
}

/**
 * Whether an object waits for its first status. The status of a paused object only contains the condition
 * Paused.
 */
export function awaitsAcceptance(object: Stored<KubeObject>): boolean {
  return isNew(object) && !isPaused(object);
}
