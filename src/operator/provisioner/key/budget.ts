import type { Clock } from "kube-controller-runtime";
import type { CoderFailure } from "../../../coder/failure.ts";

/** No key is begun later, so that a run is over after two minutes. */
const MOST_MS = 100_000;

/**
 * Shared by all removals of one run, so that the number of keys does not decide how long a worker is held: the run has
 * one deadline, and a coderd that gave no usable answer is not asked again.
 */
export class RemovalBudget {
  readonly #clock: Clock;
  readonly #until: number;
  readonly #failures = new Map<string, CoderFailure>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#until = clock.now() + MOST_MS;
  }

  get isSpent(): boolean {
    return this.#clock.now() >= this.#until;
  }

  /** Why the coderd at this URL is not asked again; `undefined` when it may be asked. */
  failureAt(url: string): CoderFailure | undefined {
    return this.#failures.get(url);
  }

  note(url: string, failure: CoderFailure): void {
    if (failure.kind === "transient") this.#failures.set(url, failure);
  }
}
