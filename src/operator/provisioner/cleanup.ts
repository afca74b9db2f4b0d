import { find, messageOf, refOf, type Stored } from "kube-controller-runtime";
import { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { patiently } from "../coderd/patiently.ts";
import { releaseGrants } from "../permissions/ensure-workspace-rbac.ts";
import { RemovalBudget } from "./key/budget.ts";
import { appliedKey, type KeyRecord, recordOf, withRecord } from "./key/record.ts";
import { type Removal, type RemovalRun, removeKey } from "./key/remove.ts";
import type { Environment, Snapshot } from "./observe.ts";

/** Removes what the daemons have in other namespaces, and their keys at coderd. */
export async function cleanUp(snapshot: Snapshot, environment: Environment): Promise<void> {
  await releaseGrants(snapshot.grants, environment.context);
  await releaseKeys(snapshot, environment);
}

/**
 * Deletes at coderd every key that status says was made for this provisioner. Best effort: what fails is
 * reported and left behind, because nothing may keep a provisioner from being deleted, or for long.
 */
async function releaseKeys(snapshot: Snapshot, environment: Environment): Promise<void> {
  const budget = new RemovalBudget(environment.context.clock);
  for (const record of recordedKeys(await latest(snapshot, environment))) {
    const problem = await release(record, { snapshot, environment, keepID: undefined, budget });
    if (problem) tell(record, problem, { snapshot, environment });
  }
}

/** The provisioner past the cache, which may not know yet of a key that was made a moment ago. */
async function latest({ object }: Snapshot, { context }: Environment): Promise<Stored<CoderProvisioner>> {
  const fresh = await find(context.client, CoderProvisioner, refOf(object)).catch(() => undefined);
  return fresh?.metadata.uid === object.metadata.uid ? fresh : object;
}

function recordedKeys({ status }: Stored<CoderProvisioner>): KeyRecord[] {
  const known = withRecord(status?.retiredKeys ?? [], recordOf(appliedKey(status)));
  return withRecord(known, status?.pendingKey);
}

/** What stands in the way, if anything does. */
async function release(record: KeyRecord, run: RemovalRun): Promise<string | undefined> {
  try {
    const { context, ports } = run.environment;
    const removal = await patiently(() => removeKey(record, run), failureOf, {
      clock: context.clock,
      random: ports.random,
    });
    return failureOf(removal)?.message;
  } catch (error) {
    return `the operator could not look for a token (${messageOf(error)})`;
  }
}

function failureOf(removal: Removal): CoderFailure | undefined {
  return removal.outcome === "failed" ? removal.failure : undefined;
}

function tell(
  { name }: KeyRecord,
  problem: string,
  { snapshot, environment }: Pick<RemovalRun, "environment"> & { snapshot: Snapshot },
): void {
  const { events, log } = environment.context;
  const message = `provisioner key "${name}" stays at coderd, delete it by hand: ${problem}`;
  log.warn("provisioner key was left behind", { key: name, problem });
  events.event(snapshot.object, { type: "Warning", reason: "KeyLeftBehind", message });
}
