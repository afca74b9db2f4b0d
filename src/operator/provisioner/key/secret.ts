import { fnv1a32, type Secret } from "kube-controller-runtime";
import { childMetadata, ROTATED_ANNOTATION } from "../../names.ts";
import { defined, type SecretKey } from "../../normalize.ts";
import { readSecretValue, valueSecret } from "../../secret-value.ts";
import type { Provisioner } from "../spec.ts";

/** Which key a Secret holds, written with its value in one request, so that the two never disagree. */
interface KeyMark {
  readonly keyName?: string | undefined;
  /** The attempt at making a key, see `pendingKey` in the status. */
  readonly attempt?: string | undefined;
  /** The request for a rotation that this key answers. */
  readonly rotation?: string | undefined;
}

/** A place in a Secret that has a value. */
export interface HeldKey extends KeyMark {
  readonly place: SecretKey;
}

/** A key and its mark. Without a value the Secret is only a claim to its name. */
export interface KeyContent extends KeyMark {
  readonly value: string | undefined;
}

const keyNameAnnotation = "coder.com/provisioner-key-name";
const attemptAnnotation = "coder.com/provisioner-key-attempt";

/**
 * coderd shows a key once; from then on this Secret is the only place that has it. `others` is what else the Secret
 * has, encoded as it is stored.
 */
export function keySecret(
  provisioner: Provisioner,
  { value, keyName, attempt, rotation }: KeyContent,
  others: Readonly<Record<string, string>> = {},
): Secret {
  const { name, key } = provisioner.key.secret;
  const annotations = defined({
    [ROTATED_ANNOTATION]: rotation,
    [keyNameAnnotation]: keyName,
    [attemptAnnotation]: attempt,
  });
  const secret = valueSecret(childMetadata(provisioner, name, annotations), { key, value: value ?? "" });
  return { ...secret, data: { ...others, ...(value === undefined ? {} : secret.data) } };
}

/** What the Secret has beside the value at a place. */
export function otherData(secrets: readonly Secret[], { name, key }: SecretKey): Record<string, string> {
  const { [key]: _, ...others } = secretNamed(secrets, name)?.data ?? {};
  return others;
}

/** All places in the Secrets that have a value. */
export function heldKeys(secrets: readonly Secret[]): HeldKey[] {
  const places = secrets.flatMap(({ metadata, data = {} }) =>
    Object.keys(data).map((key) => ({ name: metadata?.name ?? "", key })),
  );
  return places.flatMap((place) => {
    const { value, ...mark } = contentAt(secrets, place);
    return value === undefined ? [] : [{ place, ...mark }];
  });
}

/** The key at a place, and its mark; nothing but blanks is no key. */
export function contentAt(secrets: readonly Secret[], { name, key }: SecretKey): KeyContent {
  const secret = secretNamed(secrets, name);
  const { annotations } = secret?.metadata ?? {};
  return {
    value: readSecretValue(secret, key)?.trim() || undefined,
    keyName: annotations?.[keyNameAnnotation],
    attempt: annotations?.[attemptAnnotation],
    rotation: annotations?.[ROTATED_ANNOTATION],
  };
}

function secretNamed(secrets: readonly Secret[], name: string): Secret | undefined {
  return secrets.find(({ metadata }) => metadata?.name === name);
}

/** Changes with the key and reveals nothing of it; pods carry it, so that a new key replaces them. */
export function keyChecksum(key: string): string {
  return fnv1a32(key);
}
