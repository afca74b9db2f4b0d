import type { StepResult } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import { Patience } from "../../coderd/patience.ts";
import { isRolledOutWith } from "../rollout.ts";
import { unlessNone, write } from "./bookkeeping.ts";
import { RemovalBudget } from "./budget.ts";
import { keyInUse } from "./in-use.ts";
import { appliedKey, isSamePlace, type KeyRecord } from "./record.ts";
import { removeKey } from "./remove.ts";
import { type KeyRun, type KeyState, statusOf } from "./settle.ts";

/** What has become of keys that were replaced. */
export type Retirement =
  | { readonly kind: "done" }
  /** Pods may still use them. */
  | { readonly kind: "waiting"; readonly names: readonly string[] }
  | { readonly kind: "failed"; readonly name: string; readonly failure: CoderFailure };

interface Progress {
  readonly state: KeyState;
  readonly retirement: Retirement;
  /** When to look again; absent when a change will tell. */
  readonly waitMs?: number;
}

/** Deletes the keys that were replaced, once every pod runs with the key in use. */
export async function retireKeys(state: KeyState, run: KeyRun): Promise<Progress> {
  const { memory } = run.environment;
  const retired = statusOf(state).retiredKeys ?? [];
  if (retired.length === 0) return { state, retirement: { kind: "done" } };
  const key = keyInUse(state, run.snapshot);
  if (!run.client || !key || !isRolledOutWith(key, run.snapshot.deployment))
    return { state, ...waiting(retired) };
  const setback = memory.retirementSetback?.patience.recall(inputsOf(run), run.snapshot.now);
  if (setback && memory.retirementSetback)
    return { state, retirement: memory.retirementSetback.last, ...waitOf(setback) };
  const written = await write(state, run, () => ({}));
  return "stop" in written ? { state, ...waiting(retired) } : deleteAll(retired, written.next, run);
}

/** One that can't be deleted, because its coderd is gone for example, keeps none of the others. */
async function deleteAll(retired: readonly KeyRecord[], start: KeyState, run: KeyRun): Promise<Progress> {
  let state = start;
  let failure: [KeyRecord, CoderFailure] | undefined;
  const { id: keepID } = appliedKey(statusOf(state));
  const budget = new RemovalBudget(run.environment.context.clock);
  for (const record of retired) {
    const removal = await removeKey(record, { ...run, keepID, budget });
    if (removal.outcome === "failed") {
      failure ??= [record, removal.failure];
      continue;
    }
    if (removal.outcome === "deleted")
      tell(run, "OldKeyDeleted", `deleted provisioner key "${record.name}": all pods run with the new one`);
    const progress = await write(state, run, ({ retiredKeys = [] }) => ({
      retiredKeys: unlessNone(retiredKeys.filter((other) => !isSamePlace(other, record))),
    }));
    if ("stop" in progress) return { state, ...waiting(retired) };
    state = progress.next;
  }
  if (failure) return { state, ...failed(...failure, run) };
  delete run.environment.memory.retirementSetback;
  return { state, retirement: { kind: "done" } };
}

function waiting(retired: readonly KeyRecord[]): Omit<Progress, "state"> {
  return { retirement: { kind: "waiting", names: retired.map(({ name }) => name) } };
}

function failed({ name }: KeyRecord, failure: CoderFailure, run: KeyRun): Omit<Progress, "state"> {
  const { memory, ports } = run.environment;
  const retirement: Retirement = { kind: "failed", name, failure };
  const patience = memory.retirementSetback?.patience ?? new Patience();
  memory.retirementSetback = { patience, last: retirement };
  tell(run, "OldKeyLeft", `could not delete provisioner key "${name}" yet: ${failure.message}`);
  const attempt = { inputs: inputsOf(run), now: run.snapshot.now, random: ports.random, result: {} };
  return { retirement, ...waitOf(patience.failed(failure, attempt)) };
}

function waitOf({ requeueAfterMs }: StepResult<object, never>): Pick<Progress, "waitMs"> {
  return requeueAfterMs === undefined ? {} : { waitMs: requeueAfterMs };
}

function inputsOf({ snapshot, wanted }: KeyRun): string {
  return `${snapshot.object.metadata.generation} ${wanted.controlPlaneURL}`;
}

function tell(
  { snapshot, environment }: KeyRun,
  reason: "OldKeyDeleted" | "OldKeyLeft",
  message: string,
): void {
  const type = reason === "OldKeyLeft" ? "Warning" : "Normal";
  environment.context.events.event(snapshot.object, { type, reason, message });
}
