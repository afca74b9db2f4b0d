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

  /** Keys that others made in coderd are among them: a number each, which costs less than to tell them apart. */
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

  /** Of these URLs and keys nobody will ask again. */
  forget(topics: readonly string[]): void {
    for (const topic of topics) {
      this.#licenseExpiry.delete(topic);
      this.#keyCreation.delete(topic);
    }
  }
}
