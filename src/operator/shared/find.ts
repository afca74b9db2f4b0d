import type { Client } from "../../runtime/client/client.ts";
import { isNotFound } from "../../runtime/client/error.ts";
import type { Kind, KubeObject, ObjectRef, Stored } from "../../runtime/object.ts";

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
