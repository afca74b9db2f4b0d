import { type Secret, timestamp } from "kube-controller-runtime";
import { childMetadata, ROTATED_ANNOTATION } from "../../names.ts";
import type { SecretKey } from "../../normalise.ts";
import { valueSecret } from "../../secret.ts";
import type { ControlPlane } from "../spec.ts";

/** When the token in a Secret ends, as far as the operator knew when it wrote it; use may have extended it. */
const expiryAnnotation = "coder.com/token-expires-at";

export interface HeldToken {
  readonly token: string;
  /** Milliseconds since the epoch; absent when nobody noted it. */
  readonly expiresAt: number | undefined;
  /** The request for a rotation that this token answers. */
  readonly rotation?: string | undefined;
}

/** The Secret with the operator's own token. */
export function tokenSecret(controlPlane: ControlPlane, { name, key }: SecretKey, held: HeldToken): Secret {
  const { expiresAt, rotation } = held;
  const annotations = {
    ...(expiresAt === undefined ? {} : { [expiryAnnotation]: timestamp(expiresAt) }),
    ...(rotation === undefined ? {} : { [ROTATED_ANNOTATION]: rotation }),
  };
  return valueSecret(childMetadata(controlPlane, name, annotations), { key, value: held.token });
}

/** When the token in the Secret ends, by its annotation. */
export function tokenExpiry(secret: Secret): number | undefined {
  const time = Date.parse(secret.metadata?.annotations?.[expiryAnnotation] ?? "");
  return Number.isNaN(time) ? undefined : time;
}
