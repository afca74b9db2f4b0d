import type { Client } from "../client/client.ts";
import { NotLeaderError } from "../errors.ts";

/**
 * A client whose writes throw `NotLeaderError` instead of being sent while `leader` does not lead. Reads
 * pass, so that a standby keeps its caches warm. The check is made when the write is about to be sent.
 */
export function fencedClient(client: Client, leader: { isLeader(): boolean }): Client {
  const guard = async <T>(verb: string, send: () => Promise<T>): Promise<T> => {
    if (!leader.isLeader()) throw new NotLeaderError(`${verb} not sent: this process does not lead`);
    return send();
  };
  return {
    get: (kind, ref) => client.get(kind, ref),
    list: (kind, options) => client.list(kind, options),
    watch: (kind, options) => client.watch(kind, options),
    create: (kind, object) => guard("create", () => client.create(kind, object)),
    apply: (kind, object) => guard("apply", () => client.apply(kind, object)),
    mergePatch: (kind, ref, patch) => guard("patch", () => client.mergePatch(kind, ref, patch)),
    jsonPatch: (kind, ref, operations) => guard("patch", () => client.jsonPatch(kind, ref, operations)),
    patchStatus: (kind, ref, patch) => guard("status patch", () => client.patchStatus(kind, ref, patch)),
    delete: (kind, ref, options) => guard("delete", () => client.delete(kind, ref, options)),
  };
}
