import { type Changes, type Progress, Secret, type Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { DaemonObservation } from "../../coderd/daemons.ts";
import { rotationRequest } from "../../names.ts";
import type { ProvisionerSession } from "../access.ts";
import type { KeyInUse } from "../deployment.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { Provisioner } from "../spec.ts";
import { appliedKey, type CoderdKeys, freshKeyName, isWantedName, type WantedKey } from "./record.ts";
import { contentAt, type KeyContent, keyChecksum, keySecret, otherData } from "./secret.ts";

/** Records of keys, and the Secrets that may contain them. */
export interface KeyRecords {
  /** With the last written status. */
  readonly object: Stored<CoderProvisioner>;
  /** Changes that are not in the status yet. They can be determined again if the reconcile stops. */
  readonly unwritten: Changes<ProvisionerStatus>;
  readonly secrets: readonly Stored<Secret>[];
}

/** State of the key in a reconcile. Every action returns the next state. */
export interface KeyState extends KeyRecords {
  readonly coderd: CoderdKeys | undefined;
  /** Whether object and Secrets were read from the API server and not from the caches. */
  readonly isFresh: boolean;
  /** A key was created in this reconcile. A second one would not help if coderd rejects it. */
  readonly hasMade: boolean;
  /** coderd was asked in this reconcile about a key that it does not list, and did not confirm it. */
  readonly isDisowned: boolean;
}

export interface KeyRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  readonly wanted: WantedKey;
  readonly client: CoderClient;
  /** Lists the daemons of the key's organization. */
  readonly observeDaemons: (organizationId: string) => Promise<DaemonObservation>;
  /** Whether the periodic comparison with coderd is due. */
  readonly isCheckDue: boolean;
}

export type KeyProgress = Progress<KeyState, CoderFailure>;

/** The key that results from the spec, the control plane and the credentials. */
export function wantedKey(
  { controlPlane, credentialsSecretRef }: ProvisionerSession,
  { provisioner, object }: Snapshot,
  { ports }: Environment,
): WantedKey {
  return {
    controlPlaneRefName: controlPlane.settings.identity.name,
    controlPlaneURL: controlPlane.url,
    credentialsSecretRef,
    organizationName: provisioner.organizationName,
    tags: provisioner.tags,
    name: provisioner.key.name,
    nameIsFixed: provisioner.key.nameIsFixed,
    freshName: freshKeyName(provisioner, ports.random),
    isWantedName: (name) => isWantedName(name, provisioner),
    secretRef: provisioner.key.secret,
    rotation: rotationRequest(object),
  };
}

/** The status including changes that are not written yet. */
export function statusOf({ object, unwritten }: KeyRecords): Partial<ProvisionerStatus> {
  return { ...object.status, ...unwritten } as Partial<ProvisionerStatus>;
}

/** Writes changes of the status immediately, including pending ones. */
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

/** Defers a status change that can be determined again to the end of the reconcile. */
export function recordLater(state: KeyState, changes: Changes<ProvisionerStatus>): KeyProgress {
  return { next: { ...state, unwritten: { ...state.unwritten, ...changes } } };
}

/** The state according to the API server. */
export async function refresh(
  state: KeyState,
  { snapshot, environment, wanted }: KeyRun,
): Promise<KeyProgress> {
  const { children, own } = environment;
  const recorded = appliedKey(own.latest.status).secretRef?.name;
  const cached = state.secrets.map(({ metadata }) => metadata.name);
  const fresh = await own.readUncached([wanted.secretRef.name, ...(recorded ? [recorded] : []), ...cached]);
  if (!fresh) return { overtaken: true };
  const secrets = fresh.secrets.filter((secret) => children.owns(secret, snapshot.owner));
  return { next: { ...state, object: fresh.object, unwritten: {}, secrets, isFresh: true } };
}

/** The key in the status and in a Secret. Pods use it, even if another is about to replace it. */
export function keyInUse(known: KeyRecords, { key }: Provisioner): Omit<KeyInUse, "mayRollOut"> | undefined {
  const { secretRef: place = key.secret, controlPlaneURL: coderURL } = appliedKey(statusOf(known));
  const { value } = contentAt(known.secrets, place);
  return value === undefined ? undefined : { place, value, checksum: keyChecksum(value), coderURL };
}

/** The Secret could not be written. Reported in the condition of the Secret. */
export class KeyStoreError extends Error {
  override readonly name = "KeyStoreError";
}

/**
 * Writes the Secret in the spec. Keeps its other data, because pods that are not replaced yet may read the
 * key under another name. If only the caches were read, the Secret is created with the precondition that it
 * does not exist.
 */
export async function storeKey(
  content: KeyContent,
  state: KeyState,
  { snapshot, environment: { children } }: KeyRun,
): Promise<KeyState> {
  const { provisioner, owner } = snapshot;
  const { secret: place } = provisioner.key;
  const desired = keySecret(provisioner, content, otherData(state.secrets, place));
  try {
    const written = await (state.isFresh
      ? children.apply(Secret, desired, owner)
      : children.create(Secret, desired, owner));
    const others = state.secrets.filter(({ metadata }) => metadata.name !== place.name);
    return { ...state, secrets: [...others, written] };
  } catch (error) {
    throw new KeyStoreError("failed to write the Secret of the provisioner key", { cause: error });
  }
}
