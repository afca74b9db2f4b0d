import { type ConditionState, Secret } from "kube-controller-runtime";
import { keyInUse, markAnnotations, markOf, secretNamed } from "../key/secret.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { keySecret } from "../resources/key-secret.ts";
import { isHeldBack, isRolledOutWith, type KeyInUse } from "../rollout.ts";
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
  const held = outcome && keyInUse(outcome.state, snapshot.provisioner);
  if (!held) return waiting(conditionTypes.keySecret, "Waiting for a provisioner key.", snapshot);
  const key = { ...held, mayRollOut: outcome.mayRollOut };
  if (isHeldBack(key, snapshot.deployment)) return { condition: unverified(key), value: key };
  if (outcome.isSettled) await tidyUp(snapshot, environment, { key, outcome });
  const message = `The key is in Secret "${key.place.name}" under "${key.place.key}".`;
  return { condition: { status: "True", reason: "Stored", message }, value: key };
}

function unverified({ place }: KeyInUse): ConditionState {
  const message = `The content of Secret "${place.name}" has changed, and coderd has not confirmed that it is the provisioner key. Pods are not replaced meanwhile.`;
  return { status: "False", reason: "Unverified", message };
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
