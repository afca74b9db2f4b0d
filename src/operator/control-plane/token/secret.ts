import {
  isAlreadyExists,
  isConflict,
  NotOursError,
  Secret,
  type Stored,
  timestamp,
} from "kube-controller-runtime";
import { tokenSecretKey } from "../../../api/v1alpha1/defaults.ts";
import type { ControlPlane } from "../../coderd/settings.ts";
import { childMetadata, ROTATED_ANNOTATION } from "../../names.ts";
import type { SecretKey } from "../../normalize.ts";
import { readSecretValue, valueSecret } from "../../secret-value.ts";
import { secretText } from "../../sources.ts";
import type { Snapshot } from "../observe.ts";
import type { TokenRun } from "./check.ts";

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
function tokenSecret(controlPlane: ControlPlane, { name, key }: SecretKey, held: HeldToken): Secret {
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

/** The tokens in the Secrets that the operator made. */
export function ownTokens({ secrets }: Snapshot): string[] {
  return secrets.flatMap((secret) => readSecretValue(secret, tokenSecretKey)?.trim() || []);
}

/** The token that is stored, under the name of now (`present`) or, after a rename, still under the one before. */
export function heldToken(
  { key }: SecretKey,
  present: Stored<Secret> | undefined,
  { secrets }: Snapshot,
): HeldToken | undefined {
  for (const secret of [present, ...secrets]) {
    const token = secret && readSecretValue(secret, key)?.trim();
    const rotation = secret?.metadata.annotations?.[ROTATED_ANNOTATION];
    if (token) return { token, expiresAt: tokenExpiry(secret), rotation };
  }
  return undefined;
}

/** Throws when the Secret for a token that the operator makes belongs to somebody else. */
export function refuseForeign(
  ref: SecretKey,
  present: Stored<Secret> | undefined,
  { snapshot, environment }: Pick<TokenRun, "snapshot" | "environment">,
): void {
  const desired = tokenSecret(snapshot.controlPlane, ref, { token: "", expiresAt: undefined });
  if (present) environment.children.refuseForeign(Secret, { present, desired, owner: snapshot.owner });
}

/** Keeps the token in the Secret, with a note of its end, and removes a Secret of an earlier name. */
export async function storeToken(
  ref: SecretKey,
  held: HeldToken,
  { snapshot, environment }: TokenRun,
): Promise<void> {
  const secret = tokenSecret(snapshot.controlPlane, ref, held);
  await environment.children.converge(Secret, [secret], snapshot.owner);
}

/**
 * Stores a new token, unless the Secret is no longer as `present` has it. Without the note of its end it counts
 * as one whose predecessor is yet to be ended, should this process die before that. Resolves with the Secret as it is
 * then, or with `undefined` when somebody else was first.
 */
export async function handOver(
  ref: SecretKey,
  held: HeldToken,
  { present, run }: { readonly present: Stored<Secret> | undefined; readonly run: TokenRun },
): Promise<Stored<Secret> | undefined> {
  const { children } = run.environment;
  const { owner, controlPlane } = run.snapshot;
  const secret = tokenSecret(controlPlane, ref, held);
  try {
    if (!present) return await children.create(Secret, secret, owner);
    const { resourceVersion } = present.metadata;
    return await children.apply(Secret, secret, owner, { resourceVersion });
  } catch (error) {
    if (isConflict(error) || isAlreadyExists(error) || error instanceof NotOursError) return undefined;
    throw error;
  }
}

/** The token with which coderd was last asked, generated or given; undefined while there is none that works. */
export function usableToken(snapshot: Snapshot): string | undefined {
  const { controlPlane, object, tokenSecret, sources } = snapshot;
  const { operatorAccess } = controlPlane;
  if (operatorAccess.kind === "disabled" || !object.status?.operatorAccessReady) return undefined;
  if (operatorAccess.kind === "given") return secretText(sources, operatorAccess.token);
  const present = tokenSecret.status === "fulfilled" ? tokenSecret.value : undefined;
  return heldToken(operatorAccess.token, present, snapshot)?.token;
}
