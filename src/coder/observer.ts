import type { CoderClient } from "./client.ts";
import type { License, ProvisionerKey } from "./model.ts";
import type { Result } from "./result.ts";

/** Hears what coderds say in answer to others; metrics implement it. Nothing that it is told is a secret. */
export interface CoderObserver {
  /** All licenses that the coderd at `url` has, those that are over among them. */
  licensesListed(url: string, licenses: readonly License[]): void;
  licenseAdded(url: string, license: License): void;
  /** Keys that the coderd at `url` has in one organization. */
  provisionerKeysListed(url: string, keys: readonly ProvisionerKey[]): void;
}

/** The client itself, its answers told to the observer as well. */
export function overheard(client: CoderClient, url: string, observer: CoderObserver): CoderClient {
  return {
    ...client,
    licenses: () => telling(client.licenses(), (licenses) => observer.licensesListed(url, licenses)),
    addLicense: (jwt) => telling(client.addLicense(jwt), (license) => observer.licenseAdded(url, license)),
    provisionerKeys: (organizationId) =>
      telling(client.provisionerKeys(organizationId), (keys) => observer.provisionerKeysListed(url, keys)),
  };
}

async function telling<T, F>(answer: Promise<Result<T, F>>, tell: (value: T) => void): Promise<Result<T, F>> {
  const result = await answer;
  if (result.ok) tell(result.value);
  return result;
}
