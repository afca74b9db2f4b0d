import { isSameService } from "../../exposure/service.ts";
import { isComplete } from "../../pods/rollout.ts";
import { connectionsOf, mayNotAsk } from "../connections.ts";
import type { FailedRemoval } from "../memory.ts";
import { isOnlyOneInUse } from "../resources/deployment.ts";
import { witnessOf } from "./ask.ts";
import { appliedKey, isSameKey, type KeyRecord, keysOfPool, unlessNone } from "./record.ts";
import { RemovalBudget, removeKey, reportLeft } from "./remove.ts";
import { type KeyRun, type KeyState, keyInUse, recordNow, statusOf } from "./state.ts";

/** Where keys that were replaced are on their way out. */
export type Retirement =
  | { readonly kind: "done" }
  /** Daemons may still need them; `until` says what has to come first, as a clause. */
  | { readonly kind: "waiting"; readonly names: readonly string[]; readonly until: string }
  | { readonly kind: "failed"; readonly failure: FailedRemoval; readonly retryInMs: number };

interface Retired {
  readonly state: KeyState;
  readonly retirement: Retirement;
}

/**
 * Deletes the keys that were replaced, once the daemons of all pods that run are connected with the key in use, one at
 * least, and neither a pod nor a daemon works without it. It does not wait for pods that can't run: a key may be replaced
 * because it is no longer secret.
 */
export async function retireKeys(state: KeyState, run: KeyRun, mayAsk: boolean): Promise<Retired> {
  const { environment } = run;
  const retired = statusOf(state).retiredKeys ?? [];
  if (retired.length === 0) return { state, retirement: { kind: "done" } };
  const until = mayAsk ? (podsLeft(state, run) ?? (await daemonsLeft(state, run))) : CODERD_ANSWERS;
  const leaving = until === undefined ? retired : mayAsk ? await superfluous(retired, state, run) : [];
  if (until !== undefined && leaving.length === 0) return { state, retirement: waiting(retired, until) };
  const backedOff = environment.memory.retirement.current(attemptOf(run));
  if (backedOff) return { state, retirement: { kind: "failed", ...backedOff } };
  // The key in use must be on record before its predecessor goes.
  const recorded = await recordNow(state, run, () => ({}));
  if (!("next" in recorded)) return { state, retirement: waiting(retired, CODERD_ANSWERS) };
  const deleted = await deleteAll(leaving, recorded.next, run);
  if (until === undefined || deleted.retirement.kind !== "done") return deleted;
  const { retiredKeys = [] } = statusOf(deleted.state);
  return { ...deleted, retirement: waiting(retiredKeys, until) };
}

/** More are not kept for pods that are never replaced. */
const MOST_RETIRED = 5;

/**
 * Of too many keys those that no daemon is connected with: the spec changed again and again before the pods could follow.
 * The first stays in any case, which the old pods have; a container that starts reads the newest.
 */
async function superfluous(
  retired: readonly KeyRecord[],
  state: KeyState,
  { observeDaemons }: KeyRun,
): Promise<readonly KeyRecord[]> {
  if (retired.length <= MOST_RETIRED) return [];
  const { organizationID = "", controlPlaneURL } = statusOf(state);
  const sight = await observeDaemons(organizationID);
  if (!sight.seen) return [];
  const online = sight.daemons.filter(({ status }) => status !== "offline").map(({ keyId }) => keyId);
  const isSeen = (record: KeyRecord) =>
    record.organizationID === organizationID && isSameService(record.controlPlaneURL, controlPlaneURL);
  const unused = retired
    .slice(1)
    .filter((record) => isSeen(record) && record.id && !online.includes(record.id));
  return unused.slice(0, retired.length - MOST_RETIRED);
}

const ALL_PODS = "all pods run with the new key";
const CODERD_ANSWERS = "coderd can be asked again";

/** What has to happen to the pods first, if anything. */
function podsLeft(state: KeyState, { snapshot }: KeyRun): string | undefined {
  const key = keyInUse(state, snapshot.provisioner);
  if (!key || !isOnlyOneInUse(key, snapshot.deployment)) return ALL_PODS;
  // A Deployment does not count pods that end, but their daemons need their key until the last build is done.
  const draining = snapshot.pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const [first] = draining;
  if (!first) return undefined;
  const others = draining.length > 1 ? ` and ${draining.length - 1} more` : "";
  return `pod "${first.metadata.name}"${others}, which may finish a build, is gone`;
}

/** What has to happen to the daemons first, if anything. Where the operator may not ask, it takes all the pods. */
async function daemonsLeft(
  state: KeyState,
  { snapshot, observeDaemons }: KeyRun,
): Promise<string | undefined> {
  const status = statusOf(state);
  const sight = await observeDaemons(status.organizationID ?? "");
  if (!sight.seen && mayNotAsk(sight.failure)) return isComplete(snapshot.deployment) ? undefined : ALL_PODS;
  if (!sight.seen) return CODERD_ANSWERS;
  const { provisioner } = snapshot;
  const seen = { ...snapshot, daemons: sight.daemons };
  const { connected, silent, buildingWithOldKey } = connectionsOf(provisioner, keysOfPool(status), seen);
  if (silent.length > 0 || (connected === 0 && provisioner.replicas > 0))
    return `the daemons are connected with the new key: ${connected} of ${provisioner.replicas} are`;
  const [building] = buildingWithOldKey;
  return building === undefined ? undefined : `daemon "${building}" has finished its build`;
}

/** One that can't be deleted, because its coderd is gone for example, keeps none of the others. */
async function deleteAll(retired: readonly KeyRecord[], start: KeyState, run: KeyRun): Promise<Retired> {
  const { own, clock, memory } = run.environment;
  let state = start;
  let failure: FailedRemoval | undefined;
  const { id: keepID } = appliedKey(statusOf(state));
  const witness = witnessOf(state, run.snapshot.provisioner);
  const budget = new RemovalBudget(clock);
  for (const record of retired) {
    const removal = await removeKey(record, { ...run, keepID, witness, budget });
    if (removal.outcome === "failed" && !removal.isLost) {
      failure ??= { ...removal.failure, keyName: record.name };
      continue;
    }
    if (removal.outcome === "failed")
      reportLeft([{ name: record.name, problem: removal.failure.message }], run.environment);
    if (removal.outcome === "deleted")
      own.emit(
        "Normal",
        "OldKeyDeleted",
        `Deleted provisioner key "${record.name}": no pod uses it any more.`,
      );
    const recorded = await recordNow(state, run, ({ retiredKeys = [] }) => ({
      retiredKeys: unlessNone(retiredKeys.filter((other) => !isSameKey(other, record))),
    }));
    if (!("next" in recorded)) return { state, retirement: waiting(retired, CODERD_ANSWERS) };
    state = recorded.next;
  }
  if (failure) {
    const message = `Could not delete provisioner key "${failure.keyName}" yet. ${failure.message}`;
    own.emit("Warning", "OldKeyLeft", message);
    return { state, retirement: { kind: "failed", ...memory.retirement.begin(failure, attemptOf(run)) } };
  }
  memory.retirement.end();
  return { state, retirement: { kind: "done" } };
}

function waiting(retired: readonly KeyRecord[], until: string): Retirement {
  return { kind: "waiting", names: retired.map(({ name }) => name), until };
}

function attemptOf({ snapshot, wanted }: KeyRun) {
  const { now, object } = snapshot;
  return { inputs: `${object.metadata.generation} ${wanted.controlPlaneURL}`, now };
}
