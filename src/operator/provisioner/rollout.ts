import type { Deployment } from "kube-controller-runtime";
import type { SecretKey } from "../normalise.ts";
import { isComplete } from "../pods/rollout.ts";
import { keyChecksumAnnotation, keyVariable } from "./resources/deployment.ts";

/** The key that pods are to run with. */
export interface KeyInUse {
  readonly place: SecretKey;
  readonly value: string;
  readonly checksum: string;
  /** The coderd that it was made for, if status says. */
  readonly coderURL: string | undefined;
}

/** Whether all pods that there are, and as many as there should be, run with this key. */
export function isRolledOutWith(
  { place, checksum }: Pick<KeyInUse, "place" | "checksum">,
  deployment: Deployment | undefined,
): boolean {
  const template = deployment?.spec?.template;
  const variable = template?.spec?.containers[0]?.env?.find(({ name }) => name === keyVariable);
  const { name, key } = variable?.valueFrom?.secretKeyRef ?? {};
  const isCurrent =
    template?.metadata?.annotations?.[keyChecksumAnnotation] === checksum &&
    name === place.name &&
    key === place.key;
  return isCurrent && isComplete(deployment);
}
