import { type RunContext, Secret } from "kube-controller-runtime";
import { keyInUse } from "../key/in-use.ts";
import { markAnnotations, markOf, secretNamed } from "../key/stored.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { keySecret } from "../resources/key-secret.ts";
import { isRolledOutWith, type KeyInUse } from "../rollout.ts";
import { conditionTypes } from "../status.ts";
import type { KeyOutcome } from "./key.ts";
import { type Result, waiting } from "./result.ts";

/**
 * Keeps the Secret that holds the key, and removes what held it before as soon as no pod reads that any more.
 * The value is the key that pods are to run with.
 */
export async function ensureKeySecret(
  outcome: KeyOutcome | undefined,
  snapshot: Snapshot,
  { context }: Environment,
): Promise<Result<KeyInUse>> {
  if (outcome?.storeError !== undefined) throw outcome.storeError;
  const key = outcome && keyInUse(outcome.state, snapshot);
  if (!key) return waiting(conditionTypes.keySecret, "waits for a provisioner key", snapshot);
  if (outcome.isSettled) await tidyUp(key, outcome, { snapshot, context });
  const message = `the key is in Secret "${key.place.name}" under "${key.place.key}"`;
  return { condition: { status: "True", reason: "Stored", message }, value: key };
}

/**
 * Writes the Secret with the value that it has. Only for a key that is settled: while one is being made, what is
 * known of the Secret may be the past, and writing that would bring it back.
 */
async function tidyUp(
  key: KeyInUse,
  { state }: KeyOutcome,
  { snapshot, context }: { snapshot: Snapshot; context: RunContext },
): Promise<void> {
  const { provisioner, owner, deployment } = snapshot;
  const present = secretNamed(state.secrets, key.place.name);
  const { [key.place.key]: _, ...others } = present?.data ?? {};
  const isOnlyOneRead = isRolledOutWith(key, deployment);
  const extras = { annotations: markAnnotations(markOf(present)), data: isOnlyOneRead ? {} : others };
  const desired = keySecret(provisioner, key.value, extras);
  if (isOnlyOneRead) await context.children.converge(Secret, [desired], owner);
  else await context.children.apply(Secret, desired, owner);
}
