import type { CoderClient } from "./client.ts";
import type { ProvisionerKey } from "./model.ts";
import type { Result } from "./result.ts";

/** Gets a copy of what coderds answer to others; metrics implement it. It gets no secret. */
export interface CoderObserver {
  /** Keys that the coderd at `url` has in one organization. */
  provisionerKeysListed(url: string, keys: readonly ProvisionerKey[]): void;
}

/** The client itself, its answers passed to the observer as well. */
export function observed(client: CoderClient, url: string, observer: CoderObserver): CoderClient {
  return {
    ...client,
    provisionerKeys: (organizationId) =>
      reporting(client.provisionerKeys(organizationId), (keys) => observer.provisionerKeysListed(url, keys)),
  };
}

async function reporting<T, F>(
  answer: Promise<Result<T, F>>,
  report: (value: T) => void,
): Promise<Result<T, F>> {
  const result = await answer;
  if (result.ok) report(result.value);
  return result;
}
