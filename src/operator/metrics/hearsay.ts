import type { License, ProvisionerKey } from "../../coder/model.ts";
import type { CoderObserver } from "../../coder/observer.ts";

/**
 * Dates that only coderd knows, as the controllers' own questions brought them up: metrics ask nothing
 * themselves. All in seconds since the epoch.
 */
export class Hearsay implements CoderObserver {
  readonly #licenseExpiry = new Map<string, number>();
  readonly #keyCreation = new Map<string, number>();

  licensesListed(url: string, licenses: readonly License[]): void {
    this.#licenseExpiry.delete(url);
    for (const license of licenses) this.licenseAdded(url, license);
  }

  /** coderd keeps every licence it was given, and what one of them allows is allowed: the last to end counts. */
  licenseAdded(url: string, { expires }: License): void {
    const known = this.#licenseExpiry.get(url) ?? 0;
    if (expires !== undefined && expires > known) this.#licenseExpiry.set(url, expires);
  }

  provisionerKeysListed(keys: readonly ProvisionerKey[]): void {
    for (const { id, createdAt = "" } of keys) {
      const created = Date.parse(createdAt) / 1_000;
      if (!Number.isNaN(created)) this.#keyCreation.set(id, created);
    }
  }

  licenseExpiry(url: string): number | undefined {
    return this.#licenseExpiry.get(url);
  }

  keyCreation(id: string): number | undefined {
    return this.#keyCreation.get(id);
  }

  /** Forgets all but these. One too many forgotten is told again within two minutes. */
  retain({ urls, keyIDs }: { urls: ReadonlySet<string>; keyIDs: ReadonlySet<string> }): void {
    for (const url of this.#licenseExpiry.keys()) if (!urls.has(url)) this.#licenseExpiry.delete(url);
    for (const id of this.#keyCreation.keys()) if (!keyIDs.has(id)) this.#keyCreation.delete(id);
  }
}
