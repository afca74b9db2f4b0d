import type { CoderClient } from "./client.ts";
import type { ProvisionerKey } from "./model.ts";

/** Gets a copy of what coderds answer to others; metrics implement it. It gets no secret. */
export interface CoderObserver {
  /** Keys that the coderd at `url` has in one organization. */
  provisionerKeysListed(url: string, keys: readonly ProvisionerKey[]): void;
}

/** The client itself, its answers passed to the observer as well. */
export function observed(client: CoderClient, url: string, observer: CoderObserver): CoderClient {
  return {
    ...client,
    provisionerKeys: async (organizationId) => {
      const keys = await client.provisionerKeys(organizationId);
      if (keys.ok) observer.provisionerKeysListed(url, keys.value);
      return keys;
    },
  };
}
