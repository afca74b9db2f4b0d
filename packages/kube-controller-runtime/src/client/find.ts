import { type Kind, type KubeObject, type ObjectRef, refOf, type Stored } from "../object.ts";
import type { Client } from "./client.ts";
import { isNotFound } from "./error.ts";

/** The object as the API server has it now, past any cache; `undefined` when it has none. */
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

/** The same object past any cache; `undefined` when it is gone, or another has its name. */
export async function findSame<T extends KubeObject>(
  client: Pick<Client, "get">,
  kind: Kind<T>,
  object: Stored<T>,
): Promise<Stored<T> | undefined> {
  const fresh = await find(client, kind, refOf(object));
  return fresh?.metadata.uid === object.metadata.uid ? fresh : undefined;
}
