import { type Kind, type KubeObject, type ObjectRef, refOf, type Stored } from "../object.ts";
import type { Client } from "./client.ts";
import { isNotFound } from "./error.ts";

/** The current object from the API server, bypassing caches; `undefined` if it does not exist. */
export async function find<T extends KubeObject>(
  client: Pick<Client, "get">,
  kind: Kind<T>,
  ref: ObjectRef,
): Promise<Stored<T> | undefined> {
  try {
    return await client.get(kind, ref);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * The current object with the same UID, bypassing caches; `undefined` if it does not exist or was recreated.
 */
export async function findSame<T extends KubeObject>(
  client: Pick<Client, "get">,
  kind: Kind<T>,
  object: Stored<T>,
): Promise<Stored<T> | undefined> {
  const fresh = await find(client, kind, refOf(object));
  return fresh?.metadata.uid === object.metadata.uid ? fresh : undefined;
}
