import { fnv1a32, type Secret } from "kube-controller-runtime";
import { childMetadata, ROTATED_ANNOTATION } from "../../names.ts";
import { defined, type SecretKey } from "../../normalize.ts";
import { readSecretValue, valueSecret } from "../../secret-value.ts";
import type { Provisioner } from "../spec.ts";

/** Describes the key in a Secret. Written together with its value, so that both always match. */
interface KeyMark {
  readonly keyName?: string | undefined;
  /** The attempt that created the key; see `pendingKey` in the status. */
  readonly attempt?: string | undefined;
  /** The rotation request that created the key. */
  readonly rotation?: string | undefined;
}

/** A key of a Secret that has a value. */
export interface HeldKey extends KeyMark {
  readonly place: SecretKey;
}

/** A key and its mark. Without a value, the Secret only reserves its name. */
export interface KeyContent extends KeyMark {
  readonly value: string | undefined;
}

const keyNameAnnotation = "coder.com/provisioner-key-name";
const attemptAnnotation = "coder.com/provisioner-key-attempt";

/**
 * coderd returns a key only once; afterwards, only this Secret contains it. `others` is the other data of the
 * Secret, base64-encoded.
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

/** The other data of the Secret. */
export function otherData(secrets: readonly Secret[], { name, key }: SecretKey): Record<string, string> {
  const { [key]: _, ...others } = secretNamed(secrets, name)?.data ?? {};
  return others;
}

/** All keys of the Secrets that have a value. */
export function heldKeys(secrets: readonly Secret[]): HeldKey[] {
  const places = secrets.flatMap(({ metadata, data = {} }) =>
    Object.keys(data).map((key) => ({ name: metadata?.name ?? "", key })),
  );
  return places.flatMap((place) => {
    const { value, ...mark } = contentAt(secrets, place);
    return value === undefined ? [] : [{ place, ...mark }];
  });
}

/** The key and its mark. A blank value is not a key. */
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

/** Changes with the key without revealing it. Pods carry it, so that a new key replaces them. */
export function keyChecksum(key: string): string {
  return fnv1a32(key);
}
