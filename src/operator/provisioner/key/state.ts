import { type Changes, fnv1a32, type Progress, Secret, type Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { DaemonSight } from "../../daemons/observer.ts";
import { ROTATED_ANNOTATION } from "../../names.ts";
import type { SecretKey } from "../../normalise.ts";
import { readSecretValue } from "../../secret.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { KeyInUse } from "../resources/deployment.ts";
import { keySecret } from "../resources/key-secret.ts";
import {
  appliedKey,
  type CoderdKeys,
  type HeldKey,
  hex,
  type KeyMark,
  type KeyRecord,
  tagsHash,
  type WantedKey,
} from "./record.ts";

/** All that a run knows of the key; every act gives back the next state. */
export interface KeyState {
  /** With the status as last written. */
  readonly object: Stored<CoderProvisioner>;
  /** What the status does not have yet. A run that dies with it loses nothing: the next finds it out again. */
  readonly unwritten: Changes<ProvisionerStatus>;
  readonly secrets: readonly Stored<Secret>[];
  readonly coderd: CoderdKeys | undefined;
  /** Whether object and secrets are what the API server says, not the caches. */
  readonly isFresh: boolean;
  /** A key was made in this run. One is enough: what coderd says against it is for a person to read. */
  readonly hasMade: boolean;
  /** coderd was asked in this run about a key that it does not list, and does not vouch for it. */
  readonly isDisowned: boolean;
}

export interface KeyRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  readonly wanted: WantedKey;
  readonly client: CoderClient;
  /** Which daemons the organization of the key has. */
  readonly observeDaemons: (organizationId: string) => Promise<DaemonSight>;
  /** Whether it is time to compare with coderd, even if nothing has changed here. */
  readonly isCheckDue: boolean;
}

export type KeyProgress = Progress<KeyState, CoderFailure>;

/** The status as it will be when all is written. */
export function statusOf({
  object,
  unwritten,
}: Pick<KeyState, "object" | "unwritten">): Partial<ProvisionerStatus> {
  return { ...object.status, ...unwritten } as Partial<ProvisionerStatus>;
}

/** Records changes of the status now, with all that was left for later. */
export async function recordNow(
  state: KeyState,
  { environment }: Pick<KeyRun, "environment">,
  changes: (current: Partial<ProvisionerStatus>) => Changes<ProvisionerStatus>,
  { exact = false } = {},
): Promise<KeyProgress> {
  const all = (current: Partial<ProvisionerStatus>) => {
    const known = { ...current, ...state.unwritten } as Partial<ProvisionerStatus>;
    return { ...state.unwritten, ...changes(known) };
  };
  const object = await environment.own.record(all, { exact });
  return object ? { next: { ...state, object, unwritten: {} } } : { overtaken: true };
}

/** Leaves it to the end of the run to write a status that is found out again should the run not get there. */
export function recordLater(state: KeyState, changes: Changes<ProvisionerStatus>): KeyProgress {
  return { next: { ...state, unwritten: { ...state.unwritten, ...changes } } };
}

/** The key that is about to be made, as the status records it before coderd is asked for it. */
export function attemptAt(
  name: string,
  { organizationID }: CoderdKeys,
  { wanted, environment }: KeyRun,
): KeyRecord {
  const { controlPlaneRefName, controlPlaneURL, credentialsSecretRef, organizationName, tags } = wanted;
  const { random } = environment.ports;
  return {
    name,
    attempt: hex(random) + hex(random),
    controlPlaneRefName,
    controlPlaneURL,
    credentialsSecretRef: { ...credentialsSecretRef },
    organizationID,
    organizationName,
    tagsHash: tagsHash(tags),
  };
}

/** The state as the API server has it. */
export async function refresh(
  state: KeyState,
  { snapshot, environment, wanted }: KeyRun,
): Promise<KeyProgress> {
  const { children, own } = environment;
  const recorded = appliedKey(own.latest.status).secretRef?.name;
  const cached = state.secrets.map(({ metadata }) => metadata.name);
  const fresh = await own.readAnew([wanted.secretRef.name, ...(recorded ? [recorded] : []), ...cached]);
  if (!fresh) return { overtaken: true };
  const secrets = fresh.secrets.filter((secret) => children.owns(secret, snapshot.owner));
  return { next: { ...state, object: fresh.object, unwritten: {}, secrets, isFresh: true } };
}

const keyNameAnnotation = "coder.com/provisioner-key-name";
const attemptAnnotation = "coder.com/provisioner-key-attempt";

/** All places in the Secrets that have a value. */
export function heldKeys(secrets: readonly Secret[]): HeldKey[] {
  return secrets.flatMap((secret) =>
    Object.keys(secret.data ?? {})
      .map((key) => ({ name: secret.metadata?.name ?? "", key }))
      .filter((place) => valueAt(secrets, place) !== undefined)
      .map((place) => ({ place, ...markOf(secret) })),
  );
}

/** The key at a place; nothing but blanks is no key. */
export function valueAt(secrets: readonly Secret[], { name, key }: SecretKey): string | undefined {
  return readSecretValue(secretNamed(secrets, name), key)?.trim() || undefined;
}

export function secretNamed(secrets: readonly Secret[], name: string): Secret | undefined {
  return secrets.find(({ metadata }) => metadata?.name === name);
}

export function markOf(secret: Secret | undefined): KeyMark {
  const annotations = secret?.metadata?.annotations;
  return {
    keyName: annotations?.[keyNameAnnotation],
    attempt: annotations?.[attemptAnnotation],
    rotation: annotations?.[ROTATED_ANNOTATION],
  };
}

export function markAnnotations({ keyName, attempt, rotation }: KeyMark): Record<string, string> {
  return {
    ...(rotation === undefined ? {} : { [ROTATED_ANNOTATION]: rotation }),
    ...(keyName === undefined ? {} : { [keyNameAnnotation]: keyName }),
    ...(attempt === undefined ? {} : { [attemptAnnotation]: attempt }),
  };
}

/** Changes with the key and reveals nothing of it; pods carry it, so that a new key replaces them. */
export function keyChecksum(key: string): string {
  return fnv1a32(key);
}

/** The key that status records and a Secret holds: what pods run with, even when another is about to replace it. */
export function keyInUse(
  state: Pick<KeyState, "object" | "unwritten" | "secrets">,
  { key }: KeyRun["snapshot"]["provisioner"],
): Omit<KeyInUse, "mayRollOut"> | undefined {
  const { secretRef: place = key.secret, controlPlaneURL: coderURL } = appliedKey(statusOf(state));
  const value = valueAt(state.secrets, place);
  return value === undefined ? undefined : { place, value, checksum: keyChecksum(value), coderURL };
}

/** The Secret could not be written. It has a condition of its own, so it is reported there. */
export class KeyStoreError extends Error {
  override readonly name = "KeyStoreError";
}

/** What to write into the Secret that the spec names. */
interface KeyContent extends KeyMark {
  /** Absent only claims the name: better now than when a key is there that has no other place. */
  readonly value: string | undefined;
}

/**
 * Writes the Secret. What else it has stays: pods that have not been replaced yet may read the key under another name.
 * A run that has only seen caches creates it, on the condition that it does not exist.
 */
export async function storeKey(
  { value, ...mark }: KeyContent,
  state: KeyState,
  { snapshot, environment }: KeyRun,
): Promise<KeyState> {
  const { provisioner, owner } = snapshot;
  const { name, key } = provisioner.key.secret;
  const { [key]: _, ...others } = secretNamed(state.secrets, name)?.data ?? {};
  const desired = keySecret(provisioner, value, { annotations: markAnnotations(mark), data: others });
  const { children } = environment;
  const written = await stored(
    state.isFresh ? children.apply(Secret, desired, owner) : children.create(Secret, desired, owner),
  );
  const secrets = [...state.secrets.filter(({ metadata }) => metadata.name !== name), written];
  return { ...state, secrets };
}

async function stored(writing: Promise<Stored<Secret>>): Promise<Stored<Secret>> {
  try {
    return await writing;
  } catch (error) {
    throw new KeyStoreError("the Secret of the provisioner key could not be written", { cause: error });
  }
}
