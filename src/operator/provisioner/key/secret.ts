import { Secret, type Stored } from "kube-controller-runtime";
import { ROTATED_ANNOTATION } from "../../names.ts";
import type { SecretKey } from "../../normalise.ts";
import { readSecretValue } from "../../secret.ts";
import { keyChecksum } from "../hashes.ts";
import { keySecret } from "../resources/key-secret.ts";
import type { KeyInUse } from "../rollout.ts";
import { appliedKey, type HeldKey, type KeyMark } from "./record.ts";
import { type KeyRun, type KeyState, statusOf } from "./state.ts";

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
