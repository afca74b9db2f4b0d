import type { Changes, Secret, Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { type CoderdView, type KeyPlan, planKey, type WantedKey } from "../plan.ts";
import { abandon, adopt, copySecret, record } from "./bookkeeping.ts";
import { lookAtCoderd } from "./look.ts";
import { makeKey } from "./make.ts";
import { appliedKey } from "./record.ts";
import { refresh } from "./refresh.ts";
import { storedKeys } from "./stored.ts";

/** All that a run knows of the key; every action gives back the next state. */
export interface KeyState {
  /** With the status as last written. */
  readonly object: Stored<CoderProvisioner>;
  /** What the status does not have yet. A run that dies with it loses nothing: the next finds it out again. */
  readonly unwritten: Changes<ProvisionerStatus>;
  readonly secrets: readonly Stored<Secret>[];
  readonly coderd: CoderdView | undefined;
  /** Whether object and secrets are what the API server says, not the caches, which may lag behind. */
  readonly isFresh: boolean;
  /** A key was made in this run. One is enough: what coderd says against it is for a person to read. */
  readonly hasMade: boolean;
}

export interface KeyRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  readonly wanted: WantedKey;
  /** Absent while coderd must not be asked. */
  readonly client: CoderClient | undefined;
  /** Whether it is time to compare with coderd, even if nothing has changed here. */
  readonly isCheckDue: boolean;
}

/** Why a run goes no further. */
export type Stop =
  /** The key is as it should be. */
  | { readonly why: "settled" }
  /** It needs coderd, which must not be asked now. */
  | { readonly why: "noSession" }
  /** A newer spec or a deletion came first. */
  | { readonly why: "overtaken" }
  | { readonly why: "nameTaken"; readonly name: string }
  /** coderd failed; `needed` tells that there is something to do, not only to compare. */
  | { readonly why: "failed"; readonly failure: CoderFailure; readonly needed: boolean };

export type Progress = { readonly next: KeyState } | { readonly stop: Stop };

/** The longest way: refresh, abandon, copy the Secret, look, make, adopt, look, record, keep. */
const MOST_ACTIONS = 12;

/** The status as it will be when all is written. */
export function statusOf({
  object,
  unwritten,
}: Pick<KeyState, "object" | "unwritten">): Partial<ProvisionerStatus> {
  return { ...object.status, ...unwritten } as Partial<ProvisionerStatus>;
}

/** Plans and acts until there is nothing left to do, or nothing that can be done now. */
export async function settleKey(start: KeyState, run: KeyRun): Promise<{ state: KeyState; stop: Stop }> {
  let state = start;
  for (let actions = 0; actions < MOST_ACTIONS; actions++) {
    const plan = planOf(state, run);
    const mustRefresh = isFinal(plan) && !state.isFresh && !isUnhindered(plan, state, run);
    const progress = await (mustRefresh ? refresh(state, run) : act(plan, state, run));
    if ("stop" in progress) return { state, stop: progress.stop };
    state = progress.next;
  }
  throw new Error(`the provisioner key was not settled by ${MOST_ACTIONS} actions`);
}

function planOf(state: KeyState, { wanted }: KeyRun): KeyPlan {
  const status = statusOf(state);
  return planKey({
    wanted,
    applied: appliedKey(status),
    pending: status.pendingKey,
    retired: status.retiredKeys ?? [],
    stored: storedKeys(state.secrets),
    coderd: state.coderd,
  });
}

/** Whether a plan does what cannot be undone. */
function isFinal({ do: what }: KeyPlan): boolean {
  return ["create", "rotate", "replace", "abandon", "copySecret"].includes(what);
}

/**
 * Whether a plan makes the very first key, with nothing known to be in its way. Then it need not be looked at
 * past the caches: the writes are made on the condition that the caches are right.
 */
function isUnhindered({ do: what }: KeyPlan, { secrets }: KeyState, { environment }: KeyRun): boolean {
  return what === "create" && secrets.length === 0 && !environment.memory.keyStoreFailed;
}

async function act(plan: KeyPlan, state: KeyState, run: KeyRun): Promise<Progress> {
  switch (plan.do) {
    case "keep":
      if (run.isCheckDue && run.client && !state.coderd) return ask(state, run, false);
      return { stop: { why: "settled" } };
    case "ask":
      return ask(state, run, true);
    case "record":
      return record(plan.key, state);
    case "adopt":
      return adopt(plan.key, state);
    case "abandon":
      return run.client ? abandon(plan.pending, state, run) : { stop: { why: "noSession" } };
    case "copySecret":
      return copySecret(plan.from, state, run);
    case "create":
    case "rotate":
    case "replace":
      return makeKey(plan, state, run);
    case "refuse":
      return { stop: { why: "nameTaken", name: plan.name } };
  }
}

async function ask(state: KeyState, { client, wanted }: KeyRun, needed: boolean): Promise<Progress> {
  if (!client) return { stop: { why: "noSession" } };
  const view = await lookAtCoderd(client, wanted, appliedKey(statusOf(state)));
  if (!view.ok) return { stop: { why: "failed", failure: view.failure, needed } };
  return { next: { ...state, coderd: view.value } };
}
