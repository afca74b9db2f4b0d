import { Dice } from "kube-controller-runtime/testing";

/** Under what a run of the suite takes place. */
export interface Conditions {
  readonly seed: number;
  /** Processors that something else keeps busy. */
  readonly hogs: number;
  /** How much later every answer of a shared API server comes. */
  readonly apiDelayMs: number;
}

/** The conditions of a run; the seed decides all of them, and the order of the test files. */
export function conditionsOf(seed: number): Conditions {
  const dice = new Dice(seed);
  return { seed, hogs: dice.pick([0, 1, 2, 4]), apiDelayMs: dice.pick([0, 2, 10, 30]) };
}
