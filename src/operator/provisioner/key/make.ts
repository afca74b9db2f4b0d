import { isConflict } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { tagsHash } from "../hashes.ts";
import type { CoderdView, KeyPlan, Reason } from "../plan.ts";
import { write, writeExactly } from "./bookkeeping.ts";
import { hex } from "./names.ts";
import type { KeyRecord } from "./record.ts";
import { refresh } from "./refresh.ts";
import type { KeyRun, KeyState, Progress } from "./settle.ts";
import { storeFirstKey, storeKey } from "./store.ts";
import { markOf, secretNamed, valueAt } from "./stored.ts";

type MakePlan = Extract<KeyPlan, { do: "create" | "rotate" | "replace" }>;

/**
 * Makes a key and puts it into the Secret:
 *
 * 1. claim the Secret, so that a key never comes to be that has no place, unless it is the very first key;
 * 2. write down which key is about to be made;
 * 3. delete the old key if the new one must have its name;
 * 4. ask coderd for the key;
 * 5. write it into the Secret, with the mark of this attempt.
 *
 * A run that dies after 2 leaves a pending key. The next finds its mark in the Secret and adopts it, or does
 * not find it and deletes the key, which nobody can know.
 */
export async function makeKey(plan: MakePlan, state: KeyState, run: KeyRun): Promise<Progress> {
  const { client } = run;
  if (!client || !state.coderd) return { stop: { why: "noSession" } };
  if (state.hasMade) return { stop: failedAgain(plan) };
  const secrets = state.isFresh ? await claimSecret(state, run) : state.secrets;
  const pending = intention(plan, state.coderd, run);
  const noted = await note(pending, { ...state, secrets }, run);
  if ("stop" in noted || !noted.next.hasMade) return noted;
  if (plan.do === "replace") {
    const removed = await client.deleteProvisionerKey(state.coderd.organizationID, plan.name);
    if (!removed.ok && removed.failure.kind !== "notFound") return giveUp(removed.failure, noted.next, run);
  }
  return create({ plan, pending, client }, noted.next, run);
}

/** Writes down what is about to be made. What the cache only thought to be so is looked at anew instead. */
async function note(pendingKey: KeyRecord, state: KeyState, run: KeyRun): Promise<Progress> {
  const next = { ...state, hasMade: true };
  if (state.isFresh) return write(next, run, () => ({ pendingKey }));
  try {
    return await writeExactly(next, run, { pendingKey });
  } catch (error) {
    if (!isConflict(error)) throw error;
    return refresh(state, run);
  }
}

interface Creation {
  readonly plan: MakePlan;
  readonly pending: KeyRecord;
  readonly client: CoderClient;
}

async function create({ plan, pending, client }: Creation, state: KeyState, run: KeyRun): Promise<Progress> {
  const { tags } = run.wanted;
  const created = await client.createProvisionerKey(pending.organizationID ?? "", { name: plan.name, tags });
  if (!created.ok) return giveUp(created.failure, state, run);
  const content = { keyName: plan.name, attempt: pending.attempt, value: created.value };
  const secrets = await (state.isFresh ? storeKey : storeFirstKey)(content, state.secrets, run);
  run.environment.context.events.event(run.snapshot.object, announcement(plan, run));
  return { next: { ...state, secrets, coderd: undefined } };
}

function claimSecret(state: KeyState, run: KeyRun): Promise<KeyState["secrets"]> {
  const { secretRef } = run.wanted;
  const present = secretNamed(state.secrets, secretRef.name);
  return storeKey({ ...markOf(present), value: valueAt(state.secrets, secretRef) }, state.secrets, run);
}

function intention({ name }: MakePlan, { organizationID }: CoderdView, run: KeyRun): KeyRecord {
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
async function giveUp(failure: CoderFailure, state: KeyState, run: KeyRun): Promise<Progress> {
  if (failure.kind !== "transient") {
    const cleared = await write(state, run, () => ({ pendingKey: undefined }));
    if ("stop" in cleared) return cleared;
  }
  return { stop: { why: "failed", failure, needed: true } };
}

function failedAgain({ because }: MakePlan) {
  const message = `the key that was just made is not as it should be (${because.map((reason) => words[reason]).join(", ")})`;
  return { why: "failed", failure: { kind: "transient", message }, needed: true } as const;
}

const words: Readonly<Record<Reason, string>> = {
  new: "there was none",
  secretLost: "its Secret was lost",
  controlPlane: "the control plane changed",
  url: "the control plane's URL changed",
  organization: "the organization changed",
  name: "its name changed",
  tags: "the tags changed",
  deletedAtCoderd: "coderd no longer had it",
  tagsAtCoderd: "coderd had it with other tags",
};

function announcement({ do: how, name, because }: MakePlan, { wanted }: KeyRun) {
  const why = because.map((reason) => words[reason]).join(", ");
  const key = `provisioner key "${name}" in organization "${wanted.organizationName}"`;
  const message = {
    create: `made ${key}: ${why}`,
    rotate: `made ${key}: ${why}; the old key is deleted when the new pods are ready`,
    replace: `deleted and made anew ${key}: ${why}; its name is fixed by spec.key.name, so daemons reconnect when their pods are replaced`,
  }[how];
  const reason = { create: "KeyCreated", rotate: "KeyRotated", replace: "KeyReplaced" }[how];
  return { type: "Normal", reason, message } as const;
}
