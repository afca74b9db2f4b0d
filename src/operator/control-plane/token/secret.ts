import {
  AlreadyOwnedError,
  isAlreadyExists,
  isConflict,
  Secret,
  type Stored,
  timestamp,
} from "kube-controller-runtime";
import { tokenSecretKey } from "../../../api/v1alpha1/defaults.ts";
import type { ControlPlane } from "../../coderd/settings.ts";
import { TOKEN_EXPIRY_ANNOTATION, tokenExpiry } from "../../coderd/token-end.ts";
import { childMetadata, ROTATED_ANNOTATION } from "../../names.ts";
import type { SecretKey } from "../../normalize.ts";
import { readSecretValue, valueSecret } from "../../secret-value.ts";
import { secretText } from "../../sources.ts";
import type { Snapshot } from "../observe.ts";
import type { TokenRun } from "./check.ts";

export interface HeldToken {
  readonly token: string;
  /** Milliseconds since the epoch. Absent if it was not recorded. */
  readonly expiresAt: number | undefined;
  /** The rotation request that created this token. */
  readonly rotation?: string | undefined;
}

/** The Secret with the generated token. */
function tokenSecret(controlPlane: ControlPlane, { name, key }: SecretKey, held: HeldToken): Secret {
  const { expiresAt, rotation } = held;
  const annotations = {
    ...(expiresAt === undefined ? {} : { [TOKEN_EXPIRY_ANNOTATION]: timestamp(expiresAt) }),
    ...(rotation === undefined ? {} : { [ROTATED_ANNOTATION]: rotation }),
  };
  return valueSecret(childMetadata(controlPlane, name, annotations), { key, value: held.token });
}

/** Tokens in the Secrets that the operator created. */
export function ownTokens({ secrets }: Snapshot): string[] {
  return secrets.flatMap((secret) => readSecretValue(secret, tokenSecretKey)?.trim() || []);
}

/** The stored token, from the current Secret (`present`) or, after a rename, from the previous one. */
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

/** Throws if the Secret for a generated token has a different owner. */
export function refuseForeign(
  ref: SecretKey,
  present: Stored<Secret> | undefined,
  { snapshot, environment }: Pick<TokenRun, "snapshot" | "environment">,
): void {
  const desired = tokenSecret(snapshot.controlPlane, ref, { token: "", expiresAt: undefined });
  if (present) environment.children.refuseForeign(Secret, { present, desired, owner: snapshot.owner });
}

/** Stores the token with its expiration, and deletes a Secret with an earlier name. */
export async function storeToken(
  ref: SecretKey,
  held: HeldToken,
  { snapshot, environment }: TokenRun,
): Promise<void> {
  const secret = tokenSecret(snapshot.controlPlane, ref, held);
  await environment.children.apply(Secret, secret, snapshot.owner);
  await removeTokenSecrets({ snapshot, environment }, ref.name);
}

/** Removes the Secrets of the token, except the one with this name. */
export async function removeTokenSecrets(
  { snapshot, environment }: Pick<TokenRun, "snapshot" | "environment">,
  keptName?: string,
): Promise<void> {
  const others = snapshot.secrets.filter(({ metadata }) => metadata.name !== keptName);
  for (const secret of others) await environment.children.remove(Secret, secret, snapshot.owner);
}

/**
 * Stores a new token if the Secret is still the same as `present`. The expiration is recorded later: without
 * it, the predecessor must still be revoked, in case this process stops before that. Resolves with the new
 * Secret, or `undefined` after a conflict.
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
    if (isConflict(error) || isAlreadyExists(error) || error instanceof AlreadyOwnedError) return undefined;
    throw error;
  }
}

/** The token for requests to coderd, generated or provided, or undefined if none works. */
export function usableToken(snapshot: Snapshot): string | undefined {
  const { controlPlane, object, tokenSecret, sources } = snapshot;
  const { operatorAccess } = controlPlane;
  if (operatorAccess.kind === "disabled" || !object.status?.operatorAccessReady) return undefined;
  if (operatorAccess.kind === "given") return secretText(sources, operatorAccess.token);
  const present = tokenSecret.status === "fulfilled" ? tokenSecret.value : undefined;
  return heldToken(operatorAccess.token, present, snapshot)?.token;
}
