import { type Action, messageOf, requeue } from "kube-controller-runtime";
import { type CoderFailure, mayResolve } from "../../coder/failure.ts";
import { releaseGrants } from "../workload/rbac/ensure-workspace-rbac.ts";
import { isSameKey, type KeyRecord, recordedKeys } from "./key/record.ts";
import { type LeftKey, type RemovalRun, removalRun, removeKey, reportLeft } from "./key/retire.ts";
import type { Environment, Snapshot } from "./observe.ts";

/**
 * Maximum time that a deletion waits for an unreachable coderd. With the last requests, it ends after two
 * minutes.
 */
const MAX_WAIT_MS = 110_000;
const RETRY_MS = 5_000;

/** `retryMs` is the delay until a retry, if a retry can succeed. */
interface UnreleasedKey extends LeftKey {
  readonly retryMs?: number | undefined;
}

/** Deletes permissions in other namespaces and keys in coderd. */
export async function cleanUp(snapshot: Snapshot, environment: Environment): Promise<Action | undefined> {
  const { memory } = environment;
  if (!memory.released) await releaseGrants(snapshot, environment);
  memory.released ??= [];
  return releaseKeys(snapshot, environment, memory.released);
}

/**
 * Deletes all keys of this provisioner in coderd, based on its status, except those that are already
 * `released`. Best effort: permanent failures and timeouts are reported, because a deletion must never be
 * blocked.
 */
async function releaseKeys(
  snapshot: Snapshot,
  environment: Environment,
  released: KeyRecord[],
): Promise<Action | undefined> {
  const { clock } = environment;
  const waitsUntil = Date.parse(`${snapshot.object.metadata.deletionTimestamp}`) + MAX_WAIT_MS;
  const keys = { ...snapshot, unwritten: {} };
  const fullTry = { ...removalRun(keys, { snapshot, environment }), keepID: undefined };
  // If no attempt was made in this time, the last attempt gets the full time.
  const run = clock.now() < waitsUntil ? { ...fullTry, until: waitsUntil } : fullTry;
  const left: UnreleasedKey[] = [];
  for (const record of recordedKeys(snapshot.object.status)) {
    if (released.some((other) => isSameKey(other, record))) continue;
    const problem = await release(record, run);
    if (problem) left.push(problem);
    else released.push(record);
  }
  const remainingMs = waitsUntil - clock.now();
  const pauses = left
    .flatMap(({ retryMs = [] }) => retryMs)
    .filter((ms) => ms <= RETRY_MS || ms < remainingMs);
  if (remainingMs > 0 && pauses.length > 0) return requeue(Math.max(...pauses));
  if (left.length > 0) reportLeft(left, environment);
  return undefined;
}

async function release(record: KeyRecord, run: RemovalRun): Promise<UnreleasedKey | undefined> {
  const { name } = record;
  try {
    const removal = await removeKey(record, run);
    if (removal.outcome !== "failed") return undefined;
    const { failure } = removal;
    return { name, problem: failure.message, retryMs: mayResolve(failure) ? pauseAfter(failure) : undefined };
  } catch (error) {
    return { name, problem: `The operator failed to look up a token (${messageOf(error)}).` };
  }
}

function pauseAfter(failure: CoderFailure): number {
  return Math.max(RETRY_MS, (failure.kind === "rateLimited" && failure.retryAfterMs) || 0);
}
