import { isAlreadyExists, isConflict, Secret, type Stored } from "kube-controller-runtime";
import { newPassword } from "../../../coder/first-user.ts";
import type { ControlPlane, FirstAdmin } from "../../coderd/settings.ts";
import { childMetadata } from "../../names.ts";
import { readSecretValue, valueSecret } from "../../secret-value.ts";
import { secretText } from "../../sources.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { searchAgain } from "../own-secret.ts";
import type { ControlPlaneResult } from "../status.ts";

interface Run {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
}

/** Has a value if the Secret for a generated password does not belong to another owner. */
export async function checkPasswordSecret(
  snapshot: Snapshot,
  environment: Environment,
): Promise<ControlPlaneResult<true>> {
  const { controlPlane, owner, passwordSecret, awaitsFirstAdmin } = snapshot;
  const { firstAdmin } = controlPlane;
  if (!firstAdmin?.isGenerated || !awaitsFirstAdmin) return { value: true };
  if (passwordSecret.status === "rejected") throw passwordSecret.reason;
  const { value: present } = passwordSecret;
  const desired = passwordSecretOf(controlPlane, firstAdmin, "");
  if (present) environment.children.refuseForeign(Secret, { present, desired, owner });
  return { value: true };
}

/** Reads the initial password from the Secret in the spec, or from the generated one. */
export function passwordIn(
  firstAdmin: FirstAdmin,
  present: Stored<Secret> | undefined,
  { snapshot, environment }: Run,
): string | undefined {
  const { password: ref, isGenerated } = firstAdmin;
  if (!isGenerated) return secretText(snapshot.sources, ref);
  if (!present || !environment.children.owns(present, snapshot.owner)) return undefined;
  return readSecretValue(present, ref.key)?.trim() || undefined;
}

/**
 * Stores a new password if the Secret still equals `present`. Resolves with the Secret, or with `undefined` if another
 * writer was first.
 */
export async function storePassword(
  firstAdmin: FirstAdmin,
  present: Stored<Secret> | undefined,
  { snapshot, environment }: Run,
): Promise<Stored<Secret> | undefined> {
  const { controlPlane, owner } = snapshot;
  const { children, memory } = environment;
  const secret = passwordSecretOf(controlPlane, firstAdmin, newPassword());
  try {
    if (!present) return await children.create(Secret, secret, owner);
    const { resourceVersion } = present.metadata;
    return await children.apply(Secret, secret, owner, { resourceVersion });
  } catch (error) {
    if (!isConflict(error) && !isAlreadyExists(error)) throw error;
    searchAgain(memory.passwordSecret);
    return undefined;
  }
}

function passwordSecretOf(controlPlane: ControlPlane, { password: ref }: FirstAdmin, value: string): Secret {
  return valueSecret(childMetadata(controlPlane, ref.name), { key: ref.key, value });
}
