import { type Effect, isConflict, type Needs } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import { type SecretKey, unlessEmpty } from "../../normalize.ts";
import {
  askForKeys,
  confirmGone,
  contentOf,
  isMadeHere,
  nameTaken,
  secretProof,
  verifySecret,
} from "./ask.ts";
import { inWords, type KeyPlan, type MakePlan, planKey } from "./plan.ts";
import {
  appliedKey,
  type CompleteKey,
  hex,
  inUse,
  isSameKey,
  type KeyRecord,
  originOf,
  recordOf,
  withRecord,
} from "./record.ts";
import { removalRun, removeKey } from "./retire.ts";
import { contentAt, heldKeys } from "./secret.ts";
import {
  type KeyProgress,
  type KeyRun,
  type KeyState,
  recordLater,
  recordNow,
  refresh,
  statusOf,
  storeKey,
} from "./state.ts";

const needs: Readonly<Record<KeyPlan["do"], Needs>> = {
  keep: "nothing",
  ask: { external: true },
  verify: { external: true },
  confirm: { external: true },
  record: {},
  adopt: {},
  abandon: { external: true, irreversible: true },
  copySecret: { irreversible: true },
  create: { external: true, irreversible: true },
  rotate: { external: true, irreversible: true },
  replace: { external: true, irreversible: true },
  refuse: { external: true },
};

/** A provisioner key in coderd that matches the spec, and the Secret that stores it. */
export function keyEffect(run: KeyRun): Effect<KeyState, KeyPlan, CoderFailure> {
  return {
    plan: (state) => planOf(state, run),
    needs: (plan, state) => (canUseCaches(plan, state, run) ? { external: true } : needs[plan.do]),
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
 * Whether a plan creates the first key and no conflict is known. In this case, the caches suffice, because
 * the writes have preconditions that verify them.
 */
function canUseCaches({ do: what }: KeyPlan, { secrets }: KeyState, { environment }: KeyRun): boolean {
  return what === "create" && secrets.length === 0 && !environment.memory.keyStoreFailed;
}

async function act(plan: KeyPlan, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  switch (plan.do) {
    case "keep":
      return { next: state };
    case "ask":
      return askForKeys(state, run);
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

/**
 * Makes the pending key the current one. The previous one is deleted when no pod uses it anymore. Until the
 * status is written, the pending key and the mark in the Secret have the same meaning.
 */
function adopt(key: CompleteKey, state: KeyState): KeyProgress {
  const status = statusOf(state);
  const adopted = recordOf(key);
  const retired = withRecord(status.retiredKeys ?? [], recordOf(appliedKey(status)));
  const others = retired.filter((old) => adopted && !isSameKey(old, adopted));
  return recordLater(state, { ...inUse(key), pendingKey: undefined, retiredKeys: unlessEmpty(others) });
}

/**
 * Deletes a key that is not usable. If this fails, it is retried later, because a new key must not wait for
 * it.
 */
async function abandon(pending: KeyRecord, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const removal = await removeKey(pending, removalRun(state, run));
  const { attempt: _, ...left } = pending;
  return recordNow({ ...state, coderd: undefined }, run, ({ retiredKeys = [] }) => ({
    pendingKey: undefined,
    retiredKeys: unlessEmpty(removal.outcome === "failed" ? withRecord(retiredKeys, left) : retiredKeys),
  }));
}

/** Copies the key to the Secret in the spec. The old Secret remains until no pod uses it anymore. */
async function copySecret(from: SecretKey, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { secretRef } = run.wanted;
  const stored = await storeKey(contentAt(state.secrets, from), state, run);
  const message = `Copied the provisioner key to key "${secretRef.key}" of Secret "${secretRef.name}".`;
  run.environment.own.emit("Normal", "SecretCopied", message);
  return recordNow(stored, run, () => ({ secretRef: { ...secretRef } }));
}

/**
 * Creates a key and stores it in the Secret:
 *
 * 1. Reserve the Secret, so that no key is created without a place to store it, unless it is the first key.
 * 2. Record the pending key.
 * 3. Delete the old key if the new one must have the same name.
 * 4. Create the key in coderd.
 * 5. Write the key to the Secret, with the mark of this attempt.
 *
 * If a reconcile stops after step 2, a pending key remains. The next reconcile adopts the key if the Secret
 * contains the mark; otherwise, it deletes the key, whose value is unknown.
 */
async function makeKey(plan: MakePlan, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { coderd } = state;
  if (!coderd) throw new TypeError("a key is created only after coderd was asked");
  if (state.hasMade || isFutile(plan, state, run)) return { failed: failedAgain(plan) };
  const { random } = run.environment.ports;
  const held = contentAt(state.secrets, run.wanted.secretRef);
  const claimed = state.isFresh ? await storeKey(held, state, run) : state;
  const pending = {
    name: plan.name,
    attempt: hex(random) + hex(random),
    ...originOf(run.wanted, coderd),
  };
  const recorded = await recordIntention(pending, claimed, run);
  if (!("next" in recorded) || !recorded.next.hasMade) return recorded;
  if (plan.do === "replace") {
    const removed = await run.client.deleteProvisionerKey(coderd.organizationID, plan.name);
    if (!removed.ok && removed.failure.kind !== "notFound")
      return giveUp(removed.failure, recorded.next, run);
  }
  return create(plan, { pending, state: recorded.next }, run);
}

/** Minimum interval between replacements of a rejected key. */
const DISOWNED_AGAIN_MS = 60 * 60_000;

/**
 * Whether coderd rejects a key that already replaced a rejected one, or that it never listed correctly.
 * Another key would be rejected as well, and each restarts the pool.
 */
function isFutile(plan: MakePlan, state: KeyState, run: KeyRun): boolean {
  if (!isDisowned(plan) || !isMadeHere(state, run)) return false;
  const { keyCheckedAt, disownedAt = Number.NEGATIVE_INFINITY } = run.environment.memory;
  return keyCheckedAt === undefined || run.snapshot.now - disownedAt < DISOWNED_AGAIN_MS;
}

function isDisowned({ because }: MakePlan): boolean {
  return because.every((reason) => reason === "deletedAtCoderd" || reason === "tagsAtCoderd");
}

/** Reads the API server again if the cache was outdated. */
async function recordIntention(pendingKey: KeyRecord, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const next = { ...state, hasMade: true };
  try {
    return await recordNow(next, run, () => ({ pendingKey }), { exact: !state.isFresh });
  } catch (error) {
    if (!isConflict(error) || state.isFresh) throw error;
    return refresh(state, run);
  }
}

async function create(
  plan: MakePlan,
  { pending, state }: { readonly pending: KeyRecord; readonly state: KeyState },
  run: KeyRun,
): Promise<KeyProgress> {
  const { environment, wanted } = run;
  const { organizationID = "" } = pending;
  const body = { name: plan.name, tags: wanted.tags };
  const created = await run.client.createProvisionerKey(organizationID, body);
  if (!created.ok) return giveUp(created.failure, state, run);
  const { rotation } = wanted;
  const content = { keyName: plan.name, attempt: pending.attempt, rotation, value: created.value };
  // coderd returns only the secret; the list contains the ID of the key.
  const [stored, listed] = await Promise.all([
    storeKey(content, state, run),
    run.client.provisionerKeys(organizationID),
  ]);
  environment.memory.madeKey = contentOf(created.value);
  delete environment.memory.secretProof;
  delete environment.memory.keyCheckedAt;
  if (isDisowned(plan)) environment.memory.disownedAt = run.snapshot.now;
  environment.own.emit("Normal", eventReasons[plan.do], announcement(plan, wanted.organizationName));
  const coderd = listed.ok ? { organizationID, keys: listed.value } : undefined;
  return { next: { ...stored, coderd, isDisowned: false } };
}

/** If coderd rejected the request, no key exists. If the result is unknown, a key may exist. */
async function giveUp(failure: CoderFailure, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  if (failure.kind !== "transient") {
    const cleared = await recordNow(state, run, () => ({ pendingKey: undefined }));
    if ("overtaken" in cleared) return cleared;
  }
  return { failed: failure };
}

function failedAgain({ because }: MakePlan): CoderFailure {
  const message = `The most recently created key does not match (${inWords(because)}), so the operator does not create another key; check the proxies between the operator and coderd.`;
  return { kind: "transient", message };
}

const eventReasons = { create: "KeyCreated", rotate: "KeyRotated", replace: "KeyReplaced" } as const;

function announcement({ do: how, name, because }: MakePlan, organizationName: string): string {
  const key = `provisioner key "${name}" in organization "${organizationName}": ${inWords(because)}`;
  return {
    create: `Created ${key}.`,
    rotate: `Created ${key}. The old key is deleted after the daemons with the new key are connected and the old pods are gone.`,
    replace: `Recreated ${key}. Its name is fixed by spec.key.name, so daemons reconnect when their pods are replaced.`,
  }[how];
}
