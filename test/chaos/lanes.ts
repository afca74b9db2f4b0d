/** Runs what belongs to one lane one after the other, and lanes side by side. */
export class Lanes {
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #failures: unknown[] = [];

  /** Runs `work` when all that was added to the lane before has ended, however it ended. */
  add(lane: string, work: () => Promise<void>): void {
    const before = this.#lanes.get(lane) ?? Promise.resolve();
    const after = before.then(work).catch((error) => {
      this.#failures.push(error);
    });
    this.#lanes.set(lane, after);
  }

  /** Resolves with what went wrong when all lanes have come to their end. */
  async ended(): Promise<readonly unknown[]> {
    await Promise.all(this.#lanes.values());
    return this.#failures;
  }
}
