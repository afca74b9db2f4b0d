import type { Deployment } from "kube-controller-runtime";
import type { SecretKey } from "../normalise.ts";
import { isComplete } from "../pods/rollout.ts";
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
export function isRolledOutWith(
  { place, checksum }: Pick<KeyInUse, "place" | "checksum">,
  deployment: Deployment | undefined,
): boolean {
  const template = deployment?.spec?.template;
  const variable = template?.spec?.containers[0]?.env?.find(({ name }) => name === keyVariable);
  const { name, key } = variable?.valueFrom?.secretKeyRef ?? {};
  const isCurrent = runningChecksum(deployment) === checksum && name === place.name && key === place.key;
  return isCurrent && isComplete(deployment);
}
