import { Secret, type Stored } from "kube-controller-runtime";
import type { Environment, Snapshot } from "../observe.ts";
import { keySecret } from "../resources/key-secret.ts";
import { type KeyMark, markAnnotations, secretNamed } from "./stored.ts";

/** The Secret could not be written. It has a condition of its own, so it is told there. */
export class KeyStoreError extends Error {
  override readonly name = "KeyStoreError";
}

interface StoreRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
}

type Secrets = readonly Stored<Secret>[];

/** What to write into the Secret that the spec names. */
export interface KeyContent extends KeyMark {
  /** Absent only claims the name: better now than when a key is there that has no other place. */
  readonly value: string | undefined;
}

/**
 * Writes the Secret. What else it has stays: pods that have not been replaced yet may read the key under
 * another name. Returns all Secrets as they are now.
 */
export async function storeKey(
  { value, ...mark }: KeyContent,
  secrets: Secrets,
  { snapshot, environment }: StoreRun,
): Promise<Secrets> {
  const { provisioner, owner } = snapshot;
  const { name, key } = provisioner.key.secret;
  const { [key]: _, ...others } = secretNamed(secrets, name)?.data ?? {};
  const desired = keySecret(provisioner, value, { annotations: markAnnotations(mark), data: others });
  const written = await stored(environment.context.children.apply(Secret, desired, owner));
  return [...secrets.filter(({ metadata }) => metadata.name !== name), written];
}

/** Makes the Secret, which must not exist yet. */
export async function storeFirstKey(
  { value, ...mark }: KeyContent,
  secrets: Secrets,
  { snapshot, environment }: StoreRun,
): Promise<Secrets> {
  const desired = keySecret(snapshot.provisioner, value, { annotations: markAnnotations(mark) });
  return [...secrets, await stored(environment.context.children.create(Secret, desired, snapshot.owner))];
}

async function stored(writing: Promise<Stored<Secret>>): Promise<Stored<Secret>> {
  try {
    return await writing;
  } catch (error) {
    throw new KeyStoreError("the Secret of the provisioner key could not be written", { cause: error });
  }
}
