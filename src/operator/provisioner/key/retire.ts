import { provisionerDefaults } from "../../../api/v1alpha1/defaults.ts";
import type { CoderClient } from "../../../coder/client.ts";
import { type CoderFailure, mayResolve } from "../../../coder/failure.ts";
import { unlessEmpty } from "../../normalize.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import { isComplete } from "../../workload/pods/rollout.ts";
import { controlPlaneOf, sessionsFor } from "../access.ts";
import { connectionsOf, isListingForbidden } from "../connections.ts";
import { isOnlyOneInUse } from "../deployment.ts";
import type { FailedRemoval } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { hiddenReason, type ReferenceKey, referenceKeyOf } from "./ask.ts";
import { appliedKey, isSameKey, type KeyRecord } from "./record.ts";
import { type KeyRecords, type KeyRun, type KeyState, keyInUse, recordNow, statusOf } from "./state.ts";

/*
 * Deletes keys: replaced keys when they are no longer used (`retireKeys`), and any recorded key in its coderd
 * (`removeKey`).
 */

/** State of the replaced keys. */
export type Retirement =
  | { readonly kind: "done" }
  /** Daemons may still use them. `until` is the condition to wait for, as a clause. */
  | { readonly kind: "waiting"; readonly names: readonly string[]; readonly until: string }
  | { readonly kind: "failed"; readonly failure: FailedRemoval; readonly retryInMs: number };

interface Retired {
  readonly state: KeyState;
  readonly retirement: Retirement;
}

/**
 * Deletes replaced keys after the daemons of all running pods, at least one, are connected with the current
 * key, and no pod or daemon uses another key. Does not wait for pods that cannot run, because a key may be
 * replaced after it was exposed.
 */
export async function retireKeys(state: KeyState, run: KeyRun, allowCoderd: boolean): Promise<Retired> {
  const { environment } = run;
  const retired = statusOf(state).retiredKeys ?? [];
  if (retired.length === 0) return { state, retirement: { kind: "done" } };
  const until = allowCoderd ? (podsLeft(state, run) ?? (await daemonsLeft(state, run))) : CODERD_ANSWERS;
  const leaving = until === undefined ? retired : allowCoderd ? await superfluous(retired, state, run) : [];
  if (until !== undefined && leaving.length === 0) return { state, retirement: waiting(retired, until) };
  const backedOff = environment.memory.retirement.current(attemptOf(run));
  if (backedOff) return { state, retirement: { kind: "failed", ...backedOff } };
  // The current key must be recorded before its predecessor is deleted.
  const recorded = await recordNow(state, run, () => ({}));
  if (!("next" in recorded)) return { state, retirement: waiting(retired, CODERD_ANSWERS) };
  const deleted = await deleteAll(leaving, recorded.next, run);
  if (until === undefined || deleted.retirement.kind !== "done") return deleted;
  const { retiredKeys = [] } = statusOf(deleted.state);
  return { ...deleted, retirement: waiting(retiredKeys, until) };
}

/** Limit for pods that are never replaced. */
const MAX_RETIRED = 5;

/**
 * Excess keys that no daemon uses, after the spec changed repeatedly before the pods could follow. The first
 * key always remains, because the old pods use it; starting containers use the newest one.
 */
async function superfluous(
  retired: readonly KeyRecord[],
  state: KeyState,
  { observeDaemons }: KeyRun,
): Promise<readonly KeyRecord[]> {
  if (retired.length <= MAX_RETIRED) return [];
  const { organizationID = "", controlPlaneURL } = statusOf(state);
  const observation = await observeDaemons(organizationID);
  if (!observation.seen) return [];
  const online = observation.value.filter(({ status }) => status !== "offline").map(({ keyId }) => keyId);
  const isSeen = (record: KeyRecord) =>
    record.organizationID === organizationID && isSameService(record.controlPlaneURL, controlPlaneURL);
  const unused = retired
    .slice(1)
    .filter((record) => isSeen(record) && record.id && !online.includes(record.id));
  return unused.slice(0, retired.length - MAX_RETIRED);
}

const ALL_PODS = "all pods use the new key";
const CODERD_ANSWERS = "coderd is available again";

/** The condition of pods to wait for, if any. */
function podsLeft(state: KeyState, { snapshot }: KeyRun): string | undefined {
  const key = keyInUse(state, snapshot.provisioner);
  if (!key || !isOnlyOneInUse(key, snapshot.deployment)) return ALL_PODS;
  // A Deployment does not count terminating pods, but their daemons need their key until their build ends.
  const draining = snapshot.pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const [first] = draining;
  if (!first) return undefined;
  const others = draining.length > 1 ? ` and ${draining.length - 1} more` : "";
  return `pod "${first.metadata.name}"${others}, which may finish a build, is gone`;
}

/**
 * The condition of daemons to wait for, if any. If the operator is not permitted to list daemons, all pods
 * must be replaced.
 */
async function daemonsLeft(
  state: KeyState,
  { snapshot, observeDaemons }: KeyRun,
): Promise<string | undefined> {
  const status = statusOf(state);
  const observation = await observeDaemons(status.organizationID ?? "");
  if (!observation.seen && isListingForbidden(observation.failure))
    return isComplete(snapshot.deployment) ? undefined : ALL_PODS;
  if (!observation.seen) return CODERD_ANSWERS;
  const { provisioner } = snapshot;
  const seen = { ...snapshot, daemons: observation.value };
  const { connected, silent, buildingWithOldKey } = connectionsOf(provisioner, status, seen);
  if (silent.length > 0 || (connected === 0 && provisioner.replicas > 0))
    return `the daemons are connected with the new key (${connected} of ${provisioner.replicas})`;
  const [building] = buildingWithOldKey;
  return building === undefined ? undefined : `daemon "${building}" has finished its build`;
}

/** A key that cannot be deleted, for example because its coderd is gone, does not block the others. */
async function deleteAll(retired: readonly KeyRecord[], start: KeyState, run: KeyRun): Promise<Retired> {
  const { own, memory } = run.environment;
  let state = start;
  let failure: FailedRemoval | undefined;
  const removing = removalRun(start, run);
  for (const record of retired) {
    const removal = await removeKey(record, removing);
    if (removal.outcome === "failed" && !removal.isLost) {
      failure ??= { ...removal.failure, keyName: record.name };
      continue;
    }
    if (removal.outcome === "failed")
      reportLeft([{ name: record.name, problem: removal.failure.message }], run.environment);
    const message = `Deleted provisioner key "${record.name}" because no pod uses it anymore.`;
    if (removal.outcome === "deleted") own.emit("Normal", "OldKeyDeleted", message);
    const recorded = await recordNow(state, run, ({ retiredKeys = [] }) => ({
      retiredKeys: unlessEmpty(retiredKeys.filter((other) => !isSameKey(other, record))),
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

/** Result of deleting a key from coderd. `absent` if it does not exist. */
export type Removal =
  | { readonly outcome: "deleted" | "absent" }
  | {
      readonly outcome: "failed";
      readonly failure: CoderFailure;
      /** Its control plane is deleted and no token is left, so waiting does not help. */
      readonly isLost?: boolean;
    };

/**
 * Shared by all deletions of a reconcile, to bound its duration regardless of the number of keys: there is
 * one deadline, and a failing coderd is not asked again.
 */
export interface RemovalRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  /** ID of the current key, which may have the same name as a failed one. */
  readonly keepID: string | undefined;
  /** A key that coderd lists for every user who is permitted to read keys. Undefined if unknown. */
  readonly reference: ReferenceKey | undefined;
  /** No deletion starts later. */
  readonly until: number;
  /** Failures by URL. These coderds are not asked again. */
  readonly unanswered: Map<string, CoderFailure>;
}

/** Together with the last requests, a reconcile ends after two minutes. */
const MAX_MS = 100_000;

export function removalRun(
  keys: KeyRecords,
  { snapshot, environment }: Pick<KeyRun, "snapshot" | "environment">,
): RemovalRun {
  const { id: keepID } = appliedKey(statusOf(keys));
  const reference = referenceKeyOf(keys, snapshot.provisioner);
  const until = environment.clock.now() + MAX_MS;
  return { snapshot, environment, keepID, reference, until, unanswered: new Map() };
}

/** Deletes a recorded key in its coderd. Never deletes any other key. */
export async function removeKey(record: KeyRecord, run: RemovalRun): Promise<Removal> {
  const { snapshot, environment, unanswered } = run;
  if (environment.clock.now() >= run.until) return { outcome: "failed", failure: outOfTime };
  const sessions = sessionsFor(record, snapshot, environment);
  if (sessions.length === 0)
    return {
      outcome: "failed",
      failure: noCredentials(record),
      isLost: !controlPlaneOf(record, snapshot),
    };
  const failures: CoderFailure[] = [];
  for (const { url, clients } of sessions) {
    const known = unanswered.get(url);
    const removal: RemovalAt = known
      ? { outcome: "failed", failure: known }
      : await removeAt(clients, record, run);
    if (removal.outcome === "failed") {
      if (mayResolve(removal.failure)) unanswered.set(url, removal.failure);
      failures.push(removal.failure);
    } else if (removal.outcome !== "elsewhere") return removal;
  }
  const failure = failures.find(mayResolve) ?? failures[0];
  return failure ? { outcome: "failed", failure } : { outcome: "absent" };
}

/** `elsewhere`: this coderd does not have the organization. */
type RemovalAt = Removal | { readonly outcome: "elsewhere" };

/** Tries all tokens at one URL. A coderd that does not respond is not asked again. */
async function removeAt(
  clients: readonly CoderClient[],
  record: KeyRecord,
  run: RemovalRun,
): Promise<RemovalAt> {
  let last: RemovalAt = { outcome: "elsewhere" };
  for (const client of clients) {
    last = await removeWith(client, record, run);
    // Users without access to an organization get the same response as for a missing one.
    const isForbidden = last.outcome === "failed" && last.failure.kind === "forbidden";
    if (!isForbidden && last.outcome !== "elsewhere") return last;
  }
  return last;
}

async function removeWith(
  client: CoderClient,
  record: KeyRecord,
  { keepID, reference }: RemovalRun,
): Promise<RemovalAt> {
  const organization =
    record.organizationID ?? record.organizationName ?? provisionerDefaults.organizationName;
  const listed = await client.provisionerKeys(organization);
  if (!listed.ok) {
    // Organization IDs are unique, so this is a different coderd, or the organization was deleted.
    if (listed.failure.kind === "notFound") return { outcome: "elsewhere" };
    return { outcome: "failed", failure: listed.failure };
  }
  const key = listed.value.find(({ id, name }) => (record.id ? id === record.id : name === record.name));
  if (!key) {
    const failure = await hiddenReason(record, reference, { client, listed: listed.value });
    return failure ? { outcome: "failed", failure } : { outcome: "absent" };
  }
  if (key.id === keepID) return { outcome: "absent" };
  const deleted = await client.deleteProvisionerKey(organization, key.name);
  if (deleted.ok) return { outcome: "deleted" };
  const { failure } = deleted;
  if (failure.kind !== "notFound") return { outcome: "failed", failure };
  const message = `The user of the token is not permitted to delete the key; use a token of a user with the owner role. ${failure.message}`;
  return { outcome: "failed", failure: { kind: "forbidden", why: "notPermitted", message } };
}

const outOfTime = { kind: "transient", message: "coderd took too long to delete other keys." } as const;

function noCredentials({ name, controlPlaneURL }: KeyRecord): CoderFailure {
  const message = `The operator no longer has a token for the coderd at ${controlPlaneURL ?? "an unknown URL"}, which has key "${name}".`;
  return { kind: "forbidden", why: "unauthenticated", message };
}

/** A key that remains in coderd, and the reason. */
export interface LeftKey {
  readonly name: string;
  readonly problem: string;
}

/** Emits one event for all keys, because events of an object are rate-limited. */
export function reportLeft(left: readonly LeftKey[], { log, own }: Pick<Environment, "log" | "own">): void {
  for (const { name, problem } of left) log.warn("failed to delete provisioner key", { key: name, problem });
  const names = left.map(({ name }) => `"${name}"`).join(", ");
  const what =
    left.length === 1
      ? `Provisioner key ${names} remains in coderd; delete it manually.`
      : `Provisioner keys ${names} remain in coderd; delete them manually.`;
  const problems = new Set(left.map(({ problem }) => problem));
  own.emit("Warning", "KeyLeftBehind", [what, ...problems].join(" "));
}
