import { Secret } from "kube-controller-runtime";
import { keyInUse, markAnnotations, markOf, secretNamed } from "../key/secret.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { keySecret } from "../resources/key-secret.ts";
import { isRolledOutWith, type KeyInUse } from "../rollout.ts";
import { conditionTypes } from "../status.ts";
import type { KeyOutcome } from "./key.ts";
import { type ProvisionerResult, waiting } from "./result.ts";

/**
 * Keeps the Secret that holds the key, and removes what held it before as soon as no pod reads that any more.
 * The value is the key that pods are to run with.
 */
export async function ensureKeySecret(
  snapshot: Snapshot,
  environment: Environment,
  outcome: KeyOutcome | undefined,
): Promise<ProvisionerResult<KeyInUse>> {
  if (outcome?.storeError !== undefined) throw outcome.storeError;
  const key = outcome && keyInUse(outcome.state, snapshot.provisioner);
  if (!key) return waiting(conditionTypes.keySecret, "Waiting for a provisioner key.", snapshot);
  if (outcome.isSettled) await tidyUp(snapshot, environment, { key, outcome });
  const message = `The key is in Secret "${key.place.name}" under "${key.place.key}".`;
  return { condition: { status: "True", reason: "Stored", message }, value: key };
}

/**
 * Writes the Secret with the value that it has. Only for a key that is settled: while one is being made, what is
 * known of the Secret may be the past, and writing that would bring it back.
 */
async function tidyUp(
  { provisioner, owner, deployment }: Snapshot,
  { children }: Environment,
  { key, outcome }: { readonly key: KeyInUse; readonly outcome: KeyOutcome },
): Promise<void> {
  const present = secretNamed(outcome.state.secrets, key.place.name);
  const { [key.place.key]: _, ...others } = present?.data ?? {};
  const isOnlyOneRead = isRolledOutWith(key, deployment);
  const extras = { annotations: markAnnotations(markOf(present)), data: isOnlyOneRead ? {} : others };
  const desired = keySecret(provisioner, key.value, extras);
  if (isOnlyOneRead) await children.converge(Secret, [desired], owner);
  else await children.apply(Secret, desired, owner);
}
