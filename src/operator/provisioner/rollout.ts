import type { Deployment } from "kube-controller-runtime";
import type { SecretKey } from "../normalise.ts";
import { isComplete, isObserved } from "../pods/rollout.ts";
import { keyChecksumAnnotation, keyVariable } from "./resources/deployment.ts";

/** The key that pods are to run with. */
export interface KeyInUse {
  readonly place: SecretKey;
  readonly value: string;
  readonly checksum: string;
  /** False while it may be no key: pods that run with another are not replaced meanwhile. */
  readonly mayRollOut: boolean;
  /** The coderd that it was made for, if status says. */
  readonly coderURL: string | undefined;
}

/** Whether pods that run with another key have to wait for it to be confirmed. */
export function isHeldBack(
  { checksum, mayRollOut }: Pick<KeyInUse, "checksum" | "mayRollOut">,
  deployment: Deployment | undefined,
): boolean {
  const running = runningChecksum(deployment);
  return !mayRollOut && running !== undefined && running !== checksum;
}

/** Of the key that pods run with. */
export function runningChecksum(deployment: Deployment | undefined): string | undefined {
  return deployment?.spec?.template.metadata?.annotations?.[keyChecksumAnnotation];
}

/** Whether all pods that there are, and as many as there should be, run with this key. */
export function isRolledOutWith(key: KeyPlace, deployment: Deployment | undefined): boolean {
  return isTemplateWith(key, deployment) && isComplete(deployment);
}

/** Whether no pod is left that was made for another key, however many are missing. A pod that ends is not counted. */
export function isOnlyOneInUse(key: KeyPlace, deployment: Deployment | undefined): boolean {
  const { replicas = 0, updatedReplicas = 0 } = deployment?.status ?? {};
  return isTemplateWith(key, deployment) && isObserved(deployment) && replicas === updatedReplicas;
}

type KeyPlace = Pick<KeyInUse, "place" | "checksum">;

function isTemplateWith({ place, checksum }: KeyPlace, deployment: Deployment | undefined): boolean {
  const template = deployment?.spec?.template;
  const variable = template?.spec?.containers[0]?.env?.find(({ name }) => name === keyVariable);
  const { name, key } = variable?.valueFrom?.secretKeyRef ?? {};
  return runningChecksum(deployment) === checksum && name === place.name && key === place.key;
}
