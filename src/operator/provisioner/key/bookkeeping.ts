import type { Changes } from "kube-controller-runtime";
import { checkpoint } from "kube-controller-runtime";
import { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { SecretKey } from "../../normalise.ts";
import { RemovalBudget } from "./budget.ts";
import {
  appliedKey,
  type CompleteKey,
  inUse,
  isSamePlace,
  type KeyRecord,
  recordOf,
  withRecord,
} from "./record.ts";
import { removeKey } from "./remove.ts";
import { type KeyRun, type KeyState, type Progress, statusOf } from "./settle.ts";
import { storeKey } from "./store.ts";
import { markOf, secretNamed, valueAt } from "./stored.ts";

/** Fills in what status does not say of the key in use. */
export function record(key: CompleteKey, state: KeyState): Progress {
  return later(state, inUse(key));
}

/**
 * Makes the pending key the one in use. The one before is deleted when no pod uses it any more. Until that is
 * written the pending key and its mark in the Secret say the same.
 */
export function adopt(key: CompleteKey, state: KeyState): Progress {
  const status = statusOf(state);
  const adopted = recordOf(key);
  const retired = withRecord(status.retiredKeys ?? [], recordOf(appliedKey(status)));
  const others = retired.filter((old) => adopted && !isSamePlace(old, adopted));
  return later(state, { ...inUse(key), pendingKey: undefined, retiredKeys: unlessNone(others) });
}

/** Deletes a key that nobody can use. When that fails it is left for later: a new key must not wait for it. */
export async function abandon(pending: KeyRecord, state: KeyState, run: KeyRun): Promise<Progress> {
  const { id: keepID } = appliedKey(statusOf(state));
  const budget = new RemovalBudget(run.environment.context.clock);
  const removal = await removeKey(pending, { ...run, keepID, budget });
  const { attempt: _, ...left } = pending;
  return write({ ...state, coderd: undefined }, run, ({ retiredKeys = [] }) => ({
    pendingKey: undefined,
    retiredKeys: unlessNone(removal.outcome === "failed" ? withRecord(retiredKeys, left) : retiredKeys),
  }));
}

/** Copies the key to where the spec wants it. The old place stays until no pod reads it any more. */
export async function copySecret(from: SecretKey, state: KeyState, run: KeyRun): Promise<Progress> {
  const { secretRef } = run.wanted;
  const content = { ...markOf(secretNamed(state.secrets, from.name)), value: valueAt(state.secrets, from) };
  const secrets = await storeKey(content, state.secrets, run);
  const message = `copied the provisioner key to key "${secretRef.key}" of Secret "${secretRef.name}"`;
  run.environment.context.events.event(run.snapshot.object, {
    type: "Normal",
    reason: "SecretCopied",
    message,
  });
  return write({ ...state, secrets }, run, () => ({ secretRef: { ...secretRef } }));
}

/** Writes status now, whatever becomes of the run. */
export function write(
  state: KeyState,
  run: KeyRun,
  changes: (current: Partial<ProvisionerStatus>) => Changes<ProvisionerStatus>,
): Promise<Progress> {
  return writeNow({ state, changes, exact: false }, run);
}

/** The same, but rejects with a conflict when the state that is known is not the newest. */
export function writeExactly(
  state: KeyState,
  run: KeyRun,
  changes: Changes<ProvisionerStatus>,
): Promise<Progress> {
  return writeNow({ state, changes: () => changes, exact: true }, run);
}

interface StatusChange {
  readonly state: KeyState;
  readonly changes: (current: Partial<ProvisionerStatus>) => Changes<ProvisionerStatus>;
  readonly exact: boolean;
}

async function writeNow({ state, changes, exact }: StatusChange, run: KeyRun): Promise<Progress> {
  const all = (current: Partial<ProvisionerStatus>) => {
    const known = { ...current, ...state.unwritten } as Partial<ProvisionerStatus>;
    return { ...state.unwritten, ...changes(known) };
  };
  const { context } = run.environment;
  const object = await checkpoint({ kind: CoderProvisioner, object: state.object, exact }, all, context);
  return object ? { next: { ...state, object, unwritten: {} } } : { stop: { why: "overtaken" } };
}

/** Leaves it to the end of the run to write a status that is found out again should the run not get there. */
function later(state: KeyState, changes: Changes<ProvisionerStatus>): Progress {
  return { next: { ...state, unwritten: { ...state.unwritten, ...changes } } };
}

export function unlessNone(records: readonly KeyRecord[]): KeyRecord[] | undefined {
  return records.length > 0 ? [...records] : undefined;
}
