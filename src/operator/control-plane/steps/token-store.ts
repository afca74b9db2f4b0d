import {
  CONTROLLER_INDEX,
  isAlreadyExists,
  isConflict,
  keyOf,
  NotOursError,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import { tokenSecretKey } from "../../../api/v1alpha1/defaults.ts";
import type { SecretKey } from "../../normalise.ts";
import { readSecretValue } from "../../secret.ts";
import { type HeldToken, tokenExpiry, tokenSecret } from "../resources/token-secret.ts";
import type { Run } from "./database.ts";

/** The Secrets of ours that belong to the control plane: the token's, and after a rename also the one before. */
export function ownedSecrets({ snapshot, environment }: Run): Stored<Secret>[] {
  return environment.context.caches.of(Secret).byIndex(CONTROLLER_INDEX, snapshot.object.metadata.uid);
}

/** The tokens in those Secrets. */
export function ownedTokens(run: Run): string[] {
  return ownedSecrets(run).flatMap((secret) => readSecretValue(secret, tokenSecretKey)?.trim() || []);
}

/** The token that is stored, under the name of now (`present`) or, after a rename, still under the one before. */
export function heldToken(
  { key }: SecretKey,
  present: Stored<Secret> | undefined,
  run: Run,
): HeldToken | undefined {
  for (const secret of [present, ...ownedSecrets(run)]) {
    const token = secret && readSecretValue(secret, key)?.trim();
    if (token) return { token, expiresAt: tokenExpiry(secret) };
  }
  return undefined;
}

/** The Secret by its name, as the cache has it; nothing when it belongs to somebody else. */
export function cachedSecret(
  { name }: SecretKey,
  { snapshot, environment }: Run,
): Stored<Secret> | undefined {
  const { namespace } = snapshot.controlPlane.identity;
  const secret = environment.context.caches.of(Secret).get(keyOf({ namespace, name }));
  return secret && environment.context.children.owns(secret, snapshot.owner) ? secret : undefined;
}

/** The Secret by its name, read past the cache; throws when it belongs to somebody else. */
export function readSecretAnew(
  ref: SecretKey,
  { snapshot, environment }: Run,
): Promise<Stored<Secret> | undefined> {
  const desired = tokenSecret(snapshot.controlPlane, ref, { token: "", expiresAt: undefined });
  return environment.context.children.find(Secret, desired, snapshot.owner);
}

/**
 * Looks for the Secret past the cache when that has none, once: its name may be taken, or it may have lost the
 * label by which it is watched. Throws in the first case, and makes the other known.
 */
export async function checkSecret(ref: SecretKey, run: Run): Promise<void> {
  const { memory } = run.environment;
  if (cachedSecret(ref, run)) delete memory.freeTokenSecret;
  else if (memory.freeTokenSecret !== ref.name) {
    if (await readSecretAnew(ref, run)) memory.tokenSecretUnseen = true;
    else memory.freeTokenSecret = ref.name;
  }
}

/** Keeps the token in the Secret, with a note of its end, and removes a Secret of an earlier name. */
export async function storeToken(ref: SecretKey, held: HeldToken, run: Run): Promise<void> {
  const { snapshot, environment } = run;
  const secret = tokenSecret(snapshot.controlPlane, ref, held);
  await environment.context.children.converge(Secret, [secret], snapshot.owner);
}

/**
 * Stores a new token, unless the Secret is no longer as `present` has it. Without the note of its end it counts
 * as one whose predecessor is yet to be ended, should this process die before that. Returns whether it is stored.
 */
export async function handOver(
  ref: SecretKey,
  held: HeldToken,
  { present, run }: { readonly present: Stored<Secret> | undefined; readonly run: Run },
): Promise<boolean> {
  const { children } = run.environment.context;
  const { owner, controlPlane } = run.snapshot;
  const secret = tokenSecret(controlPlane, ref, held);
  try {
    if (present) {
      const { resourceVersion } = present.metadata;
      await children.apply(Secret, secret, owner, { resourceVersion });
    } else await children.create(Secret, secret, owner);
    return true;
  } catch (error) {
    if (isConflict(error) || isAlreadyExists(error) || error instanceof NotOursError) return false;
    throw error;
  }
}
