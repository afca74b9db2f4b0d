import type { CoderClient } from "./client.ts";
import type { ProvisionerKey } from "./model.ts";

/** Receives copies of responses, for example for metrics. It receives no secrets. */
export interface CoderObserver {
  /** Keys of one organization in the coderd at `url`. */
  provisionerKeysListed(url: string, keys: readonly ProvisionerKey[]): void;
}

/** Wraps a client so that the observer receives its responses. */
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
