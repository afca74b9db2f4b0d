import { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { Changes } from "../../../runtime/controller/steps.ts";
import { checkpoint } from "../../shared/checkpoint.ts";
import type { SecretKey } from "../../shared/normalise.ts";
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
import type { KeyRun, KeyState, Progress } from "./settle.ts";
import { storeKey } from "./store.ts";
import { markOf, secretNamed, valueAt } from "./stored.ts";

/** Fills in what status does not say of the key in use. */
export function record(key: CompleteKey, state: KeyState, run: KeyRun): Promise<Progress> {
  return write(state, run, () => inUse(key));
}

/** Makes the pending key the one in use. The one before is deleted when no pod uses it any more. */
export function adopt(key: CompleteKey, state: KeyState, run: KeyRun): Promise<Progress> {
  const adopted = recordOf(key);
  return write(state, run, (current) => {
    const isPending = current.pendingKey !== undefined;
    const before = isPending ? recordOf(appliedKey(current)) : undefined;
    const retired = withRecord(current.retiredKeys ?? [], before);
    const others = retired.filter((old) => adopted && !isSamePlace(old, adopted));
    return { ...inUse(key), pendingKey: undefined, retiredKeys: unlessNone(others) };
  });
}

/** Deletes a key that nobody can use. When that fails it is left for later: a new key must not wait for it. */
export async function abandon(pending: KeyRecord, state: KeyState, run: KeyRun): Promise<Progress> {
  const { id: keepID } = appliedKey(state.object.status);
  const removal = await removeKey(pending, { ...run, keepID });
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
export async function write(
  state: KeyState,
  { environment }: KeyRun,
  changes: (current: Partial<ProvisionerStatus>) => Changes<ProvisionerStatus>,
): Promise<Progress> {
  const { context } = environment;
  const object = await checkpoint({ kind: CoderProvisioner, object: state.object }, changes, context);
  return object ? { next: { ...state, object } } : { stop: { why: "overtaken" } };
}

export function unlessNone(records: readonly KeyRecord[]): KeyRecord[] | undefined {
  return records.length > 0 ? [...records] : undefined;
}
