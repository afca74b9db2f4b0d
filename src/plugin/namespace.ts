import { find, isForbidden, Namespace } from "kube-controller-runtime";
import type { Cluster } from "./cluster.ts";
import { CommandError } from "./command.ts";

/**
 * Throws if the user named a namespace that does not exist. A namespace that may not be read counts as
 * existing.
 */
export async function assertNamespace({ client, chosenNamespace: name }: Cluster): Promise<void> {
  if (name === undefined) return;
  const isForbiddenToo = (error: unknown) => {
    if (isForbidden(error)) return true;
    throw error;
  };
  if (await find(client, Namespace, { name }).catch(isForbiddenToo)) return;
  throw new CommandError(`There is no namespace "${name}".`);
}
