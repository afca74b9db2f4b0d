import { ApiError, isForbidden, isNotFound, messageOf } from "kube-controller-runtime";

/**
 * Collects what could not be read, a line for each, so that one part that is forbidden never costs the rest. A cluster
 * that does not answer at all, or does not know who asks, is no gap: that is thrown.
 */
export class Gaps {
  /** A place for each reading, so that the order is that of the questions and not that of the answers. */
  readonly #places: (string | undefined)[] = [];

  /** In the order in which they were asked for, each once. */
  get lines(): readonly string[] {
    return [...new Set(this.#places.filter((line) => line !== undefined))];
  }

  /** The result of a reading, or `undefined` when it was refused. `what` completes "You may not …". */
  async read<T>(what: string, reading: Promise<T>): Promise<T | undefined> {
    const place = this.#places.push(undefined) - 1;
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 0 || error.code === 401) throw error;
      this.#places[place] = lineFor(what, error);
      return undefined;
    }
  }

  add(line: string): void {
    this.#places.push(line);
  }
}

function lineFor(what: string, error: ApiError): string {
  if (isForbidden(error)) return `You may not ${what}.`;
  if (isNotFound(error)) return `Could not ${what}: the cluster has none.`;
  return `Could not ${what}: ${messageOf(error)}.`;
}
