import { messageOf } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import { retryRateLimited } from "../coderd/retry-rate-limited.ts";
import { releaseGrants } from "../permissions/ensure-workspace-rbac.ts";
import { type KeyRecord, recordedKeys } from "./key/record.ts";
import { type Removal, RemovalBudget, type RemovalRun, removeKey } from "./key/remove.ts";
import type { Environment, Snapshot } from "./observe.ts";

/** Removes what the daemons have in other namespaces, and their keys at coderd. */
export async function cleanUp(snapshot: Snapshot, environment: Environment): Promise<void> {
  await releaseGrants(snapshot, environment);
  await releaseKeys(snapshot, environment);
}

/**
 * Deletes at coderd every key that status says was made for this provisioner. Best effort: what fails is
 * reported and left behind, because nothing may keep a provisioner from being deleted, or for long.
 */
async function releaseKeys(snapshot: Snapshot, environment: Environment): Promise<void> {
  const { clock, log, own } = environment;
  const budget = new RemovalBudget(clock);
  for (const record of recordedKeys(snapshot.object.status)) {
    const problem = await release(record, { snapshot, environment, keepID: undefined, budget });
    if (!problem) continue;
    log.warn("provisioner key was left behind", { key: record.name, problem });
    const message = `Provisioner key "${record.name}" stays at coderd; delete it by hand. ${problem}`;
    own.emit("Warning", "KeyLeftBehind", message);
  }
}

/** Why the key could not be deleted, if it could not. */
async function release(record: KeyRecord, run: RemovalRun): Promise<string | undefined> {
  try {
    const { clock, ports } = run.environment;
    const pace = { clock, random: ports.random };
    return failureOf(await retryRateLimited(() => removeKey(record, run), failureOf, pace))?.message;
  } catch (error) {
    return `The operator could not look for a token (${messageOf(error)}).`;
  }
}

function failureOf(removal: Removal): CoderFailure | undefined {
  return removal.outcome === "failed" ? removal.failure : undefined;
}
