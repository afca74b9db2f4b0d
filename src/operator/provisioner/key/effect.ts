import type { Effect, Needs } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { failed, type Result, succeeded } from "../../../coder/result.ts";
import { isSameService } from "../../exposure/service.ts";
import type { SecretKey } from "../../normalise.ts";
import { makeKey } from "./make.ts";
import { type CoderdKeys, type KeyPlan, planKey, type WantedKey } from "./plan.ts";
import { confirmGone, secretProof, verifySecret } from "./proof.ts";
import {
  type AppliedKey,
  appliedKey,
  type CompleteKey,
  inUse,
  isSameKey,
  type KeyRecord,
  recordOf,
  unlessNone,
  withRecord,
} from "./record.ts";
import { RemovalBudget, removeKey } from "./remove.ts";
import { heldKeys, markOf, secretNamed, storeKey, valueAt } from "./secret.ts";
import {
  type KeyProgress,
  type KeyRun,
  type KeyState,
  recordLater,
  recordNow,
  refresh,
  statusOf,
} from "./state.ts";
import { witnessOf } from "./witness.ts";

const needs: Readonly<Record<KeyPlan["do"], Needs>> = {
  keep: "nothing",
  ask: { otherSide: true },
  verify: { otherSide: true },
  confirm: { otherSide: true },
  record: {},
  adopt: {},
  abandon: { otherSide: true, certainty: true },
  copySecret: { certainty: true },
  create: { otherSide: true, certainty: true },
  rotate: { otherSide: true, certainty: true },
  replace: { otherSide: true, certainty: true },
  refuse: { otherSide: true },
};

/** A provisioner key at coderd that is as the spec says, and the Secret that holds it. */
export function keyEffect(run: KeyRun): Effect<KeyState, KeyPlan, CoderFailure> {
  return {
    plan: (state) => planOf(state, run),
    needs: (plan, state) => (isUnhindered(plan, state, run) ? { otherSide: true } : needs[plan.do]),
    refresh: (state) => refresh(state, run),
    act: (plan, state) => act(plan, state, run),
  };
}

function planOf(state: KeyState, run: KeyRun): KeyPlan {
  const { wanted, isCheckDue } = run;
  const status = statusOf(state);
  return planKey({
    wanted,
    applied: appliedKey(status),
    pending: status.pendingKey,
    retired: status.retiredKeys ?? [],
    held: heldKeys(state.secrets),
    coderd: state.coderd,
    isCheckDue,
    secret: secretProof(state, run),
    isDisowned: state.isDisowned,
  });
}

/**
 * Whether a plan makes the very first key, with nothing known to be in its way. Then it need not be looked at
 * past the caches: the writes are made on the condition that the caches are right.
 */
function isUnhindered({ do: what }: KeyPlan, { secrets }: KeyState, { environment }: KeyRun): boolean {
  return what === "create" && secrets.length === 0 && !environment.memory.keyStoreFailed;
}

async function act(plan: KeyPlan, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  switch (plan.do) {
    case "keep":
      return { next: state };
    case "ask":
      return ask(state, run);
    case "verify":
      return verifySecret(state, run);
    case "confirm":
      return confirmGone(state, run);
    case "record":
      return recordLater(state, inUse(plan.key));
    case "adopt":
      return adopt(plan.key, state);
    case "abandon":
      return abandon(plan.pending, state, run);
    case "copySecret":
      return copySecret(plan.from, state, run);
    case "create":
    case "rotate":
    case "replace":
      return makeKey(plan, state, run);
    case "refuse":
      return { failed: nameTaken(plan.name, run.wanted) };
  }
}

async function ask(state: KeyState, { client, wanted }: KeyRun): Promise<KeyProgress> {
  const keys = await keysAtCoderd(client, wanted, appliedKey(statusOf(state)));
  return keys.ok ? { next: { ...state, coderd: keys.value } } : { failed: keys.failure };
}

/**
 * Makes the pending key the one in use. The one before is deleted when no pod uses it any more. Until that is
 * written the pending key and its mark in the Secret say the same.
 */
function adopt(key: CompleteKey, state: KeyState): KeyProgress {
  const status = statusOf(state);
  const adopted = recordOf(key);
  const retired = withRecord(status.retiredKeys ?? [], recordOf(appliedKey(status)));
  const others = retired.filter((old) => adopted && !isSameKey(old, adopted));
  return recordLater(state, { ...inUse(key), pendingKey: undefined, retiredKeys: unlessNone(others) });
}

/** Deletes a key that nobody can use. When that fails it is left for later: a new key must not wait for it. */
async function abandon(pending: KeyRecord, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { id: keepID } = appliedKey(statusOf(state));
  const budget = new RemovalBudget(run.environment.clock);
  const witness = witnessOf(state, run.snapshot.provisioner);
  const failure = await removeKey(pending, { ...run, keepID, witness, budget });
  const { attempt: _, ...left } = pending;
  return recordNow({ ...state, coderd: undefined }, run, ({ retiredKeys = [] }) => ({
    pendingKey: undefined,
    retiredKeys: unlessNone(failure.outcome === "failed" ? withRecord(retiredKeys, left) : retiredKeys),
  }));
}

/** Copies the key to where the spec wants it. The old place stays until no pod reads it any more. */
async function copySecret(from: SecretKey, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { secretRef } = run.wanted;
  const content = { ...markOf(secretNamed(state.secrets, from.name)), value: valueAt(state.secrets, from) };
  const stored = await storeKey(content, state, run);
  const message = `Copied the provisioner key to key "${secretRef.key}" of Secret "${secretRef.name}".`;
  run.environment.own.emit("Normal", "SecretCopied", message);
  return recordNow(stored, run, () => ({ secretRef: { ...secretRef } }));
}

/** Asks coderd which keys the wanted organization has. */
async function keysAtCoderd(
  client: CoderClient,
  wanted: WantedKey,
  applied: AppliedKey,
): Promise<Result<CoderdKeys, CoderFailure>> {
  const known = knownOrganization(wanted, applied);
  if (known) {
    const keys = await client.provisionerKeys(known);
    if (keys.ok) return succeeded({ organizationID: known, keys: keys.value });
    // An organization that was deleted and made anew has another id.
    if (keys.failure.kind !== "notFound") return keys;
  }
  const organization = await client.organization(wanted.organizationName);
  if (!organization.ok) return failed(organizationFailure(organization.failure, wanted));
  const keys = await client.provisionerKeys(organization.value.id);
  return keys.ok ? succeeded({ organizationID: organization.value.id, keys: keys.value }) : keys;
}

/** The organization's id, if it was found under the same name at the same coderd. */
function knownOrganization(wanted: WantedKey, applied: AppliedKey): string | undefined {
  const isSame =
    applied.organizationName === wanted.organizationName &&
    isSameService(applied.controlPlaneURL, wanted.controlPlaneURL) &&
    applied.controlPlaneRefName === wanted.controlPlaneRefName;
  return isSame ? applied.organizationID : undefined;
}

function organizationFailure(failure: CoderFailure, { organizationName }: WantedKey): CoderFailure {
  if (failure.kind !== "notFound") return failure;
  const message = `Organization "${organizationName}" does not exist at coderd, or the token's user is not a member of it; create it or correct spec.organizationName.`;
  return { kind: "notFound", message };
}

function nameTaken(name: string, { organizationName }: WantedKey): CoderFailure {
  const message = `A key named "${name}" already exists in organization "${organizationName}" and does not belong to this provisioner; choose another spec.key.name or delete that key.`;
  return { kind: "duplicate", message };
}
