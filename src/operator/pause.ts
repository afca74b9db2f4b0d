import { isNew, isPausedBy, type KubeObject, type Stored } from "kube-controller-runtime";

/** Set to "true" by a person: nothing is done for the object but what its deletion needs. */
export const PAUSE_ANNOTATION = "coder.com/paused";

export function isPaused(object: KubeObject): boolean {
  return isPausedBy(PAUSE_ANNOTATION, object);
}

/** Whether an object waits for its first status. A paused one gets none but that it is paused. */
export function awaitsAcceptance(object: Stored<KubeObject>): boolean {
  return isNew(object) && !isPaused(object);
}
