import type { StepResult } from "kube-controller-runtime";
import { blocked, fingerprint } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";
import { Patience } from "../../coderd/patience.ts";
import { freshKeyName, isWantedName } from "../key/names.ts";
import { appliedKey } from "../key/record.ts";
import { type Retirement, retireKeys } from "../key/retire.ts";
import { type KeyRun, type KeyState, type Stop, settleKey, statusOf } from "../key/settle.ts";
import { KeyStoreError } from "../key/store.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { WantedKey } from "../plan.ts";
import { conditionTypes } from "../status.ts";
import type { Session } from "./access.ts";
import { type Result, waiting } from "./result.ts";

/** How soon a key is deleted that could not be stored. */
const ABANDON_MS = 1_000;

/** How often the key at coderd is compared with the one that it should be. */
const CHECK_EVERY_MS = 2 * 60_000;

export interface KeyOutcome {
  readonly state: Pick<KeyState, "object" | "unwritten" | "secrets">;
  /** Whether the key is as it should be, so that its Secret may be tidied up. */
  readonly isSettled: boolean;
  /** Why the Secret could not be written: for the step that has the Secret's condition. */
  readonly storeError?: unknown;
}

export interface KeyAccess {
  readonly session: Session;
  /** Without a licence coderd is not asked; what needs no coderd is done all the same. */
  readonly entitled: boolean;
}

/** Keeps a key at coderd that is as the spec says, and the Secret that holds it. */
export async function ensureKey(
  access: KeyAccess | undefined,
  snapshot: Snapshot,
  environment: Environment,
): Promise<Result<KeyOutcome>> {
  const { object, secrets } = snapshot;
  const start: KeyState = {
    object,
    unwritten: {},
    secrets,
    coderd: undefined,
    isFresh: false,
    hasMade: false,
  };
  if (!access) return unsettled(start, waits(snapshot));
  const { memory } = environment;
  memory.keySetback ??= new Patience();
  const { controlPlane, token } = access.session;
  const inputs = fingerprint([String(object.metadata.generation), controlPlane.url, token]);
  const setback = memory.keySetback.recall(inputs, snapshot.now);
  const run: KeyRun = {
    snapshot,
    environment,
    wanted: wantedKey(access.session, snapshot, environment),
    client: access.entitled && !setback ? access.session.client : undefined,
    isCheckDue: snapshot.now - (memory.keyCheckedAt ?? Number.NEGATIVE_INFINITY) >= CHECK_EVERY_MS,
  };
  try {
    const { state, stop } = await settleKey(start, run);
    if (setback?.condition) return unsettled(state, setback);
    if (stop.why !== "settled") return unsettled(state, tellStop(stop, run, inputs));
    return await settled(state, run, setback?.requeueAfterMs);
  } catch (error) {
    if (!(error instanceof KeyStoreError)) throw error;
    // The key that was made in vain, if any, is deleted by the next run, which must not wait for the Secret.
    const soon = memory.keyStoreFailed ? {} : { requeueAfterMs: ABANDON_MS };
    memory.keyStoreFailed = true;
    return { ...soon, value: { state: start, isSettled: false, storeError: error.cause } };
  }
}

function unsettled(state: KeyState, result: StepResult<object, never>): Result<KeyOutcome> {
  return { ...result, status: state.unwritten, value: { state, isSettled: false } };
}

function waits(snapshot: Snapshot): StepResult<object, never> {
  return waiting(conditionTypes.key, "waits for the stages before it", snapshot);
}

/** What the spec, the control plane and the credentials ask for. */
function wantedKey(session: Session, { provisioner }: Snapshot, { ports }: Environment): WantedKey {
  return {
    controlPlaneRefName: session.controlPlane.settings.identity.name,
    controlPlaneURL: session.controlPlane.url,
    credentialsSecretRef: session.credentialsSecretRef,
    organizationName: provisioner.organizationName,
    tags: provisioner.tags,
    name: provisioner.key.name,
    nameIsFixed: provisioner.key.nameIsFixed,
    freshName: freshKeyName(provisioner, ports.random),
    isWantedName: (name) => isWantedName(name, provisioner),
    secretRef: provisioner.key.secret,
  };
}

function tellStop(
  stop: Exclude<Stop, { why: "settled" }>,
  { snapshot, environment, wanted }: KeyRun,
  inputs: string,
): StepResult<object, never> {
  switch (stop.why) {
    case "overtaken":
      return {};
    case "noSession":
      return waits(snapshot);
    case "nameTaken": {
      const message = `a key named "${stop.name}" exists already in organization "${wanted.organizationName}" and is not of this provisioner; choose another spec.key.name or delete that key`;
      return blocked("KeyNameTaken", message, { requeueAfterMs: CHECK_EVERY_MS });
    }
    case "failed": {
      const { failure, needed } = stop;
      // A key that was right a moment ago does not turn wrong because coderd cannot be asked.
      const isTold = needed || failure.kind !== "transient";
      const result = isTold ? blocked(reasons[failure.kind], failure.message) : {};
      const attempt = { inputs, now: snapshot.now, random: environment.ports.random, result };
      return environment.memory.keySetback?.failed(failure, attempt) ?? result;
    }
  }
}

async function settled(
  settledState: KeyState,
  run: KeyRun,
  pauseMs = CHECK_EVERY_MS,
): Promise<Result<KeyOutcome>> {
  const { snapshot, environment } = run;
  const { memory } = environment;
  if (settledState.coderd) {
    memory.keyCheckedAt = snapshot.now;
    memory.keySetback?.succeeded();
  }
  delete memory.keyStoreFailed;
  const { state, retirement, waitMs = CHECK_EVERY_MS } = await retireKeys(settledState, run);
  const { name, organizationName } = appliedKey(statusOf(state));
  const key = `key "${name}" of organization "${organizationName}" is in use`;
  const { reason, more } = tell(retirement);
  const age = snapshot.now - (memory.keyCheckedAt ?? snapshot.now);
  // A check that is due but may not be made must wait, or the next run would follow at once, and the next.
  const nextCheckMs = run.client ? CHECK_EVERY_MS - age : pauseMs;
  return {
    condition: { status: "True", reason, message: key + more },
    status: state.unwritten,
    requeueAfterMs: Math.min(nextCheckMs, waitMs),
    value: { state, isSettled: true },
  };
}

function tell(retirement: Retirement): { reason: string; more: string } {
  switch (retirement.kind) {
    case "done":
      return { reason: "KeyReady", more: "" };
    case "waiting": {
      const names = retirement.names.map((name) => `"${name}"`).join(", ");
      return { reason: "Rotating", more: `; ${names} will be deleted when the new pods are ready` };
    }
    case "failed":
      return {
        reason: "OldKeyLeft",
        more: `; "${retirement.name}" could not be deleted yet: ${retirement.failure.message}`,
      };
  }
}

const reasons: Readonly<Record<CoderFailure["kind"], string>> = {
  unsupported: "NotSupported",
  forbidden: "Forbidden",
  notEntitled: "NotEntitled",
  rateLimited: "RateLimited",
  duplicate: "KeyNameTaken",
  notFound: "OrganizationNotFound",
  invalid: "Rejected",
  transient: "CoderdUnreachable",
};
