import type { Secret } from "kube-controller-runtime";
import type { SecretKey } from "../../normalise.ts";
import { readSecretValue } from "../../secret.ts";

/** Which key a Secret holds, written with its value in one request, so that the two never disagree. */
export interface KeyMark {
  readonly keyName?: string | undefined;
  /** The attempt at making a key, see `pendingKey` in the status. */
  readonly attempt?: string | undefined;
}

/** A place where a value is. */
export interface StoredKey extends KeyMark {
  readonly place: SecretKey;
}

const keyNameAnnotation = "coder.com/provisioner-key-name";
const attemptAnnotation = "coder.com/provisioner-key-attempt";

export function isSamePlace(left: SecretKey, right: SecretKey): boolean {
  return left.name === right.name && left.key === right.key;
}

/** All places in the Secrets that have a value. */
export function storedKeys(secrets: readonly Secret[]): StoredKey[] {
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
  return { keyName: annotations?.[keyNameAnnotation], attempt: annotations?.[attemptAnnotation] };
}

export function markAnnotations({ keyName, attempt }: KeyMark): Record<string, string> {
  return {
    ...(keyName === undefined ? {} : { [keyNameAnnotation]: keyName }),
    ...(attempt === undefined ? {} : { [attemptAnnotation]: attempt }),
  };
}
