import { tokenSecretKey } from "../../../api/v1alpha1/defaults.ts";
import { isAlreadyExists, isConflict } from "../../../runtime/client/error.ts";
import { find } from "../../../runtime/client/find.ts";
import { CONTROLLER_INDEX, OwnedByAnotherError } from "../../../runtime/controller/children.ts";
import { Secret } from "../../../runtime/kinds.ts";
import { keyOf, refOf, type Stored } from "../../../runtime/object.ts";
import { controllerOf } from "../../../runtime/owner.ts";
import type { SecretKey } from "../../shared/normalise.ts";
import { readSecretValue } from "../../shared/secret.ts";
import type { Snapshot } from "../observe.ts";
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
  return secret && ownerBeside(snapshot, secret) ? undefined : secret;
}

/**
 * The Secret by its name, read past the cache; throws when it belongs to somebody else. One that an earlier
 * control plane of the same name left behind is removed.
 */
export async function readSecretAnew(
  { name }: SecretKey,
  { snapshot, environment }: Run,
): Promise<Stored<Secret> | undefined> {
  const { namespace } = snapshot.controlPlane.identity;
  const { children, client } = environment.context;
  const secret = await find(client, Secret, { namespace, name });
  const other = secret && ownerBeside(snapshot, secret);
  if (!secret || !other) return secret;
  if (await children.removeFormer(Secret, secret, snapshot.owner)) return undefined;
  throw new OwnedByAnotherError(Secret, refOf(secret), other);
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
      await children.apply(Secret, { ...secret, metadata: { ...secret.metadata, resourceVersion } }, owner);
    } else await children.create(Secret, secret, owner);
    return true;
  } catch (error) {
    if (isConflict(error) || isAlreadyExists(error)) return false;
    throw error;
  }
}

/** Who controls the Secret, if it is not the control plane. */
function ownerBeside({ object }: Snapshot, secret: Stored<Secret>): string | undefined {
  const controller = controllerOf(secret);
  if (!controller || controller.uid === object.metadata.uid) return undefined;
  return `${controller.kind} "${controller.name}"`;
}
