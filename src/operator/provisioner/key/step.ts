import {
  blocked,
  type ConditionState,
  fingerprint,
  Secret,
  type SettleOptions,
  type StepResult,
  settle,
} from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import { reasonOf, withAdvice } from "../../coderd/failure.ts";
import type { ProvisionerSession } from "../access.ts";
import { pollIntervalMs, SOON_MS } from "../connections.ts";
import { isHeldBack, isRolledOutWith, type KeyInUse } from "../deployment.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { conditionTypes, type ProvisionerResult, waiting } from "../status.ts";
import { secretProof } from "./ask.ts";
import { keyEffect } from "./effect.ts";
import { appliedKey } from "./record.ts";
import { type Retirement, retireKeys } from "./retire.ts";
import { contentAt, keySecret, otherData } from "./secret.ts";
import {
  type KeyRecords,
  type KeyRun,
  type KeyState,
  KeyStoreError,
  keyInUse,
  statusOf,
  wantedKey,
} from "./state.ts";

/** Delay before a key that could not be stored is deleted. */
const ABANDON_MS = 1_000;

/** Another rotation may have been requested, which waits until earlier keys are deleted. */
const NEXT_ROTATION_MS = 1_000;

/** Interval to compare the key with coderd. */
const CHECK_EVERY_MS = 2 * 60_000;

export interface KeyOutcome {
  readonly state: KeyRecords;
  /** Whether the key matches, so that its Secret can be cleaned up. */
  readonly isSettled: boolean;
  /** Whether pods may be replaced to use the content of the Secret, which must be a valid key. */
  readonly mayRollOut: boolean;
  /** Why the Secret could not be written, for the step that owns its condition. */
  readonly storeError?: unknown;
}

export interface KeyAccess {
  readonly session: ProvisionerSession;
  /** Without a license, coderd is not asked, but everything else is done. */
  readonly entitled: boolean;
}

/** Ensures that coderd has a key that matches the spec, and that the Secret contains it. */
export async function ensureKey(
  snapshot: Snapshot,
  environment: Environment,
  access: KeyAccess | undefined,
): Promise<ProvisionerResult<KeyOutcome>> {
  const { object, secrets, now } = snapshot;
  const { memory } = environment;
  const found = memory.foundKey?.version === object.metadata.resourceVersion ? memory.foundKey.changes : {};
  const start: KeyState = {
    object,
    secrets,
    unwritten: found,
    coderd: undefined,
    isFresh: false,
    hasMade: false,
    isDisowned: false,
  };
  if (!access) return unsettled(start, { snapshot, environment }, waits(snapshot));
  const { session, entitled } = access;
  const age = now - (memory.keyCheckedAt ?? Number.NEGATIVE_INFINITY);
  const run: KeyRun = {
    snapshot,
    environment,
    wanted: wantedKey(session, snapshot, environment),
    client: session.client,
    observeDaemons: (organizationId) => session.observeDaemons(organizationId, SOON_MS),
    isCheckDue: entitled && age >= CHECK_EVERY_MS,
  };
  const generation = String(object.metadata.generation);
  const inputs = fingerprint([generation, session.controlPlane.url, session.token, run.wanted.rotation]);
  try {
    const result = await report(run, start, { inputs, now, backoff: memory.key, allowExternal: entitled });
    // The status of a starting object is not written after every reconcile, and missing values would be
    // queried again.
    const { object: written, unwritten: changes } = result.value?.state ?? start;
    memory.foundKey = { version: written.metadata.resourceVersion, changes };
    return result;
  } catch (error) {
    if (!(error instanceof KeyStoreError)) throw error;
    // The next reconcile deletes a key that could not be stored. It must not wait for the Secret.
    const soon = memory.keyStoreFailed ? {} : { requeueAfterMs: ABANDON_MS };
    memory.keyStoreFailed = true;
    const value = { state: start, isSettled: false, mayRollOut: false, storeError: error.cause };
    return { ...soon, value };
  }
}

async function report(
  run: KeyRun,
  start: KeyState,
  options: SettleOptions<CoderFailure>,
): Promise<ProvisionerResult<KeyOutcome>> {
  const settled = await settle(keyEffect(run), start, options);
  const { state, plan } = settled;
  switch (settled.end) {
    case "overtaken":
      return unsettled(state, run, {});
    case "notAllowed":
      return unsettled(state, run, waits(run.snapshot));
    case "failed": {
      const { failure, retryInMs: requeueAfterMs } = settled;
      // A valid key does not become invalid because coderd is unavailable.
      const isNeeded = plan.do !== "verify" && (plan.do !== "ask" || plan.needed);
      if (!isNeeded && (failure.kind === "transient" || plan.do === "verify"))
        return inPlace(state, run, { allowCoderd: false, nextCheckMs: requeueAfterMs });
      const words = { duplicate: "KeyNameTaken", notFound: "OrganizationNotFound" };
      const block = blocked(reasonOf(failure, words), withAdvice(failure), { requeueAfterMs });
      return unsettled(state, run, block);
    }
    case "settled": {
      const { memory } = run.environment;
      const { now } = run.snapshot;
      if (state.coderd) memory.keyCheckedAt = now;
      delete memory.keyStoreFailed;
      const { allowExternal: allowCoderd = true } = options;
      const age = now - (memory.keyCheckedAt ?? now);
      return inPlace(state, run, {
        allowCoderd,
        nextCheckMs: allowCoderd ? CHECK_EVERY_MS - age : CHECK_EVERY_MS,
      });
    }
  }
}

function unsettled(
  state: KeyState,
  run: Pick<KeyRun, "environment" | "snapshot">,
  result: StepResult<object, never>,
): ProvisionerResult<KeyOutcome> {
  return { ...result, status: state.unwritten, value: outcome(state, run, false) };
}

function outcome(
  state: KeyState,
  run: Pick<KeyRun, "environment" | "snapshot">,
  isSettled: boolean,
): KeyOutcome {
  const proof = secretProof(state, run);
  return { state, isSettled, mayRollOut: proof === "proven" || proof === "unverifiable" };
}

function waits(snapshot: Snapshot): StepResult<object, never> {
  return waiting(
    conditionTypes.key,
    "Waiting for a token for coderd and a license that includes external provisioners.",
    snapshot,
  );
}

/** The key matches; replaced keys can be deleted. */
async function inPlace(
  settledState: KeyState,
  run: KeyRun,
  { allowCoderd, nextCheckMs }: { readonly allowCoderd: boolean; readonly nextCheckMs: number },
): Promise<ProvisionerResult<KeyOutcome>> {
  const { state, retirement } = await retireKeys(settledState, run, allowCoderd);
  const { name, organizationName } = appliedKey(statusOf(state));
  const { reason, more } = describe(retirement);
  const suffix = secretProof(state, run) === "unverifiable" ? UNVERIFIABLE : "";
  const message = `Key "${name}" of organization "${organizationName}" is in use.${suffix}${more}`;
  const isOver = statusOf(settledState).retiredKeys !== undefined && retirement.kind === "done";
  const retryInMs = isOver ? NEXT_ROTATION_MS : nextRetirementMs(retirement, run);
  return {
    condition: { status: "True", reason, message },
    status: state.unwritten,
    requeueAfterMs: Math.min(nextCheckMs, retryInMs),
    value: outcome(state, run, true),
  };
}

const UNVERIFIABLE = " This version of coderd cannot confirm that the Secret contains it.";

/** Changes of pods trigger a reconcile; changes of daemons require polling. */
function nextRetirementMs(retirement: Retirement, { snapshot, environment }: KeyRun): number {
  if (retirement.kind === "failed") return retirement.retryInMs;
  return retirement.kind === "waiting" ? pollIntervalMs(environment.memory, snapshot.now) : CHECK_EVERY_MS;
}

function describe(retirement: Retirement): { readonly reason: string; readonly more: string } {
  switch (retirement.kind) {
    case "done":
      return { reason: "KeyReady", more: "" };
    case "waiting": {
      const names = retirement.names.map((name) => `"${name}"`).join(", ");
      return { reason: "Rotating", more: ` ${names} will be deleted when ${retirement.until}.` };
    }
    case "failed": {
      const { keyName, message } = retirement.failure;
      return { reason: "OldKeyLeft", more: ` "${keyName}" could not be deleted yet. ${message}` };
    }
  }
}

/**
 * Maintains the Secret with the key, and deletes earlier Secrets when no pod uses them anymore. The value is
 * the key for pods.
 */
export async function ensureKeySecret(
  snapshot: Snapshot,
  environment: Environment,
  outcome: KeyOutcome | undefined,
): Promise<ProvisionerResult<KeyInUse>> {
  if (outcome?.storeError !== undefined) throw outcome.storeError;
  const held = outcome && keyInUse(outcome.state, snapshot.provisioner);
  if (!held) return waiting(conditionTypes.keySecret, "Waiting for a provisioner key.", snapshot);
  const key = { ...held, mayRollOut: outcome.mayRollOut };
  if (isHeldBack(key, snapshot.deployment)) return { condition: unverified(key), value: key };
  if (outcome.isSettled) await tidyUp(snapshot, environment, { key, outcome });
  const message = `The key is stored in key "${key.place.key}" of Secret "${key.place.name}".`;
  return { condition: { status: "True", reason: "Stored", message }, value: key };
}

function unverified({ place }: KeyInUse): ConditionState {
  const message = `The content of Secret "${place.name}" has changed, and coderd has not confirmed that it is the provisioner key. Until then, pods are not replaced; see condition ProvisionerKeyReady.`;
  return { status: "False", reason: "Unverified", message };
}

/**
 * Rewrites the Secret with its value. Only for a settled key: during a rotation, the known value may be
 * outdated and must not be restored.
 */
async function tidyUp(
  { provisioner, owner, deployment }: Snapshot,
  { children }: Environment,
  { key, outcome }: { readonly key: KeyInUse; readonly outcome: KeyOutcome },
): Promise<void> {
  const { secrets } = outcome.state;
  const isOnlyOneRead = isRolledOutWith(key, deployment);
  const others = isOnlyOneRead ? {} : otherData(secrets, key.place);
  const desired = keySecret(provisioner, contentAt(secrets, key.place), others);
  if (isOnlyOneRead) await children.converge(Secret, [desired], owner);
  else await children.apply(Secret, desired, owner);
}
