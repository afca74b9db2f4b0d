import { isConflict } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import { tagsHash } from "../hashes.ts";
import { hex } from "./names.ts";
import type { CoderdKeys, KeyPlan, Reason } from "./plan.ts";
import { contentOf, isMadeHere } from "./proof.ts";
import type { KeyRecord } from "./record.ts";
import { markOf, secretNamed, storeKey, valueAt } from "./secret.ts";
import { type KeyProgress, type KeyRun, type KeyState, recordNow, refresh } from "./state.ts";

export type MakePlan = Extract<KeyPlan, { do: "create" | "rotate" | "replace" }>;

/**
 * Makes a key and puts it into the Secret:
 *
 * 1. claim the Secret, so that a key never comes to be that has no place, unless it is the very first key;
 * 2. record which key is about to be made;
 * 3. delete the old key if the new one must have its name;
 * 4. ask coderd for the key;
 * 5. write it into the Secret, with the mark of this attempt.
 *
 * A run that dies after 2 leaves a pending key. The next finds its mark in the Secret and adopts it, or does
 * not find it and deletes the key, which nobody can know.
 */
export async function makeKey(plan: MakePlan, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  const { coderd } = state;
  if (!coderd) throw new TypeError("a key is made only after coderd was asked");
  if (state.hasMade || isFutile(plan, state, run)) return { failed: failedAgain(plan) };
  const claimed = state.isFresh ? await claimSecret(state, run) : state;
  const pending = intention(plan, coderd, run);
  const recorded = await recordIntention(pending, claimed, run);
  if (!("next" in recorded) || !recorded.next.hasMade) return recorded;
  if (plan.do === "replace") {
    const removed = await run.client.deleteProvisionerKey(coderd.organizationID, plan.name);
    if (!removed.ok && removed.failure.kind !== "notFound")
      return giveUp(removed.failure, recorded.next, run);
  }
  return create(plan, { pending, state: recorded.next }, run);
}

/** How long after a key that coderd disowned the next may be replaced for the same reason. */
const DISOWNED_AGAIN_MS = 60 * 60_000;

/**
 * Whether coderd disagrees with the very key that replaced one of which it said the same, or that it has not once listed
 * as it should be: another would fare no better, and each costs a restart of the pool.
 */
function isFutile(plan: MakePlan, state: KeyState, run: KeyRun): boolean {
  if (!isDisowned(plan) || !isMadeHere(state, run)) return false;
  const { keyCheckedAt, disownedAt = Number.NEGATIVE_INFINITY } = run.environment.memory;
  return keyCheckedAt === undefined || run.snapshot.now - disownedAt < DISOWNED_AGAIN_MS;
}

function isDisowned({ because }: MakePlan): boolean {
  return because.every((reason) => reason === "deletedAtCoderd" || reason === "tagsAtCoderd");
}

/** What the cache only thought to be so is looked at anew instead. */
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
  const body = { name: plan.name, tags: wanted.tags };
  const created = await run.client.createProvisionerKey(pending.organizationID ?? "", body);
  if (!created.ok) return giveUp(created.failure, state, run);
  const { rotation } = wanted;
  const content = { keyName: plan.name, attempt: pending.attempt, rotation, value: created.value };
  const stored = await storeKey(content, state, run);
  environment.memory.madeKey = contentOf(created.value);
  delete environment.memory.secretProof;
  delete environment.memory.keyCheckedAt;
  if (isDisowned(plan)) environment.memory.disownedAt = run.snapshot.now;
  environment.own.emit("Normal", eventReasons[plan.do], announcement(plan, wanted.organizationName));
  return { next: { ...stored, coderd: undefined, isDisowned: false } };
}

function claimSecret(state: KeyState, run: KeyRun): Promise<KeyState> {
  const { secretRef } = run.wanted;
  const present = secretNamed(state.secrets, secretRef.name);
  return storeKey({ ...markOf(present), value: valueAt(state.secrets, secretRef) }, state, run);
}

function intention({ name }: MakePlan, { organizationID }: CoderdKeys, run: KeyRun): KeyRecord {
  const { controlPlaneRefName, controlPlaneURL, credentialsSecretRef, organizationName, tags } = run.wanted;
  return {
    name,
    attempt: hex(run.environment.ports.random) + hex(run.environment.ports.random),
    controlPlaneRefName,
    controlPlaneURL,
    credentialsSecretRef: { ...credentialsSecretRef },
    organizationID,
    organizationName,
    tagsHash: tagsHash(tags),
  };
}

/** When coderd refused, there is no key to look for later; when nothing is known, there may be one. */
async function giveUp(failure: CoderFailure, state: KeyState, run: KeyRun): Promise<KeyProgress> {
  if (failure.kind !== "transient") {
    const cleared = await recordNow(state, run, () => ({ pendingKey: undefined }));
    if ("overtaken" in cleared) return cleared;
  }
  return { failed: failure };
}

function failedAgain({ because }: MakePlan): CoderFailure {
  const message = `The key that the operator created last is not as it should be (${inWords(because)}), so it does not create another; check what stands between coderd and the operator.`;
  return { kind: "transient", message };
}

const words: Readonly<Record<Reason, string>> = {
  new: "there was none",
  secretLost: "its Secret was lost",
  requested: "somebody asked for another",
  secretRefused: "its Secret held something else",
  controlPlane: "the control plane changed",
  url: "the control plane's URL changed",
  organization: "the organization changed",
  name: "its name changed",
  tags: "the tags changed",
  deletedAtCoderd: "coderd no longer had it",
  tagsAtCoderd: "coderd had it with other tags",
};

function inWords(because: readonly Reason[]): string {
  return because.map((reason) => words[reason]).join(", ");
}

const eventReasons = { create: "KeyCreated", rotate: "KeyRotated", replace: "KeyReplaced" } as const;

function announcement({ do: how, name, because }: MakePlan, organizationName: string): string {
  const key = `provisioner key "${name}" in organization "${organizationName}": ${inWords(because)}`;
  return {
    create: `Created ${key}.`,
    rotate: `Created ${key}. The old key is deleted when the daemons with the new one are connected and the old pods are gone.`,
    replace: `Deleted and created again ${key}. Its name is fixed by spec.key.name, so daemons reconnect when their pods are replaced.`,
  }[how];
}
