import type { FailedRemoval } from "../memory.ts";
import { isRolledOutWith } from "../rollout.ts";
import { appliedKey, isSameKey, type KeyRecord, unlessNone } from "./record.ts";
import { RemovalBudget, removeKey } from "./remove.ts";
import { keyInUse } from "./secret.ts";
import { type KeyRun, type KeyState, recordNow, statusOf } from "./state.ts";

/** Where keys that were replaced are on their way out. */
export type Retirement =
  | { readonly kind: "done" }
  /** Pods may still use them. */
  | { readonly kind: "waiting"; readonly names: readonly string[] }
  | { readonly kind: "failed"; readonly failure: FailedRemoval; readonly retryInMs: number };

interface Retired {
  readonly state: KeyState;
  readonly retirement: Retirement;
}

/** Deletes the keys that were replaced, once every pod runs with the key in use and none finishes a build without it. */
export async function retireKeys(state: KeyState, run: KeyRun, mayAsk: boolean): Promise<Retired> {
  const { snapshot, environment } = run;
  const retired = statusOf(state).retiredKeys ?? [];
  if (retired.length === 0) return { state, retirement: { kind: "done" } };
  const key = keyInUse(state, snapshot.provisioner);
  // A Deployment does not count pods that end, but their daemons need their key until the last build is done.
  const isDraining = snapshot.pods.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
  if (!mayAsk || !key || isDraining || !isRolledOutWith(key, snapshot.deployment))
    return { state, retirement: waiting(retired) };
  const backedOff = environment.memory.retirement.current(attemptOf(run));
  if (backedOff) return { state, retirement: { kind: "failed", ...backedOff } };
  // The key in use must be on record before its predecessor goes.
  const recorded = await recordNow(state, run, () => ({}));
  return "next" in recorded
    ? deleteAll(retired, recorded.next, run)
    : { state, retirement: waiting(retired) };
}

/** One that can't be deleted, because its coderd is gone for example, keeps none of the others. */
async function deleteAll(retired: readonly KeyRecord[], start: KeyState, run: KeyRun): Promise<Retired> {
  const { own, clock, memory } = run.environment;
  let state = start;
  let failure: FailedRemoval | undefined;
  const { id: keepID } = appliedKey(statusOf(state));
  const budget = new RemovalBudget(clock);
  for (const record of retired) {
    const removal = await removeKey(record, { ...run, keepID, budget });
    if (removal.outcome === "failed") {
      failure ??= { ...removal.failure, keyName: record.name };
      continue;
    }
    if (removal.outcome === "deleted")
      own.emit(
        "Normal",
        "OldKeyDeleted",
        `Deleted provisioner key "${record.name}": all pods use the new one.`,
      );
    const recorded = await recordNow(state, run, ({ retiredKeys = [] }) => ({
      retiredKeys: unlessNone(retiredKeys.filter((other) => !isSameKey(other, record))),
    }));
    if (!("next" in recorded)) return { state, retirement: waiting(retired) };
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

function waiting(retired: readonly KeyRecord[]): Retirement {
  return { kind: "waiting", names: retired.map(({ name }) => name) };
}

function attemptOf({ snapshot, wanted }: KeyRun) {
  const { now, object } = snapshot;
  return { inputs: `${object.metadata.generation} ${wanted.controlPlaneURL}`, now };
}
