import { ApiError, isForbidden, isNotFound, messageOf } from "kube-controller-runtime";

/**
 * Collects what could not be read, a line for each, so that one part that is forbidden never costs the rest. A cluster
 * that does not answer at all, or does not know who asks, is no gap: that is thrown.
 */
export class Gaps {
  readonly #lines = new Set<string>();

  /** In the order in which they were found. */
  get lines(): readonly string[] {
    return [...this.#lines];
  }

  /** The result of a reading, or `undefined` when it was refused. `what` completes "You may not …". */
  async read<T>(what: string, reading: Promise<T>): Promise<T | undefined> {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 0 || error.code === 401) throw error;
      this.#lines.add(lineFor(what, error));
      return undefined;
    }
  }

  add(line: string): void {
    this.#lines.add(line);
  }
}

function lineFor(what: string, error: ApiError): string {
  if (isForbidden(error)) return `You may not ${what}.`;
  if (isNotFound(error)) return `Could not ${what}: the cluster has none.`;
  return `Could not ${what}: ${messageOf(error)}.`;
}
