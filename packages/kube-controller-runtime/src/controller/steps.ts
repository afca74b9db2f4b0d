import { type Condition, type ConditionState, setCondition } from "../conditions.ts";
import { type Action, awaitChange, requeue } from "../queue/action.ts";
import { AlreadyOwnedError, type ForeignObject } from "./ownership.ts";

/** Fields to set, and fields to remove by the value `undefined`. */
export type Changes<S extends object> = { readonly [Field in keyof S]?: S[Field] | undefined };

/**
 * The result of one step. A failure is data: the following steps still run and the status is still written.
 */
export interface StepResult<S extends object, V = undefined> {
  /** The state of the step's condition; absent leaves the condition unchanged. */
  readonly condition?: ConditionState;
  /** Removes the step's condition from the status. */
  readonly noCondition?: true;
  /** Fields of the status to set; `undefined` removes a field. */
  readonly status?: Changes<S>;
  /** Run again after this time, even without a change. */
  readonly requeueAfterMs?: number;
  /** Run again with backoff. */
  readonly error?: unknown;
  /** The value for later steps; absent means that they have to wait. */
  readonly value?: V;
}

/** The meaning of an error: reason and message of a condition, and when to retry. */
export interface Explanation extends Omit<ConditionState, "status"> {
  /** Only a user can resolve it: retry after this time, and do not count the run as failed. */
  readonly retryAfterMs?: number;
}

/** Explains an unexpected error to the user who reads the condition. Must not leak secrets. */
export type Explain = (error: unknown) => Explanation;

/**
 * Runs the steps of one reconcile, sequentially or concurrently, and collects their results:
 *
 *     const steps = new Steps<Status>(explain);
 *     const token = await steps.run("TokenReady", () => ensureToken(snapshot));
 *     await steps.run("LicenseApplied", () => applyLicense(snapshot, token));
 *
 * If a step throws, its condition becomes False with the explanation of the error.
 */
export class Steps<S extends { conditions?: Condition[] }> {
  readonly #explain: Explain;
  /** In the order in which the steps started, so that concurrent steps do not reorder the status. */
  readonly #conditions = new Map<string, ConditionState | "none" | undefined>();
  readonly #conflicts: ForeignObject[] = [];
  readonly #errors: unknown[] = [];
  #status: Changes<S> = {};
  #requeueAfterMs = Number.POSITIVE_INFINITY;

  constructor(explain: Explain) {
    this.#explain = explain;
  }

  /** Runs a step, which owns the condition of the given type, and returns its value. Never throws. */
  async run<V>(type: string, step: () => Promise<StepResult<S, V>>): Promise<V | undefined> {
    this.#conditions.set(type, undefined);
    const result = await this.#attempt(step);
    this.#conditions.set(type, result.noCondition ? "none" : result.condition);
    if (result.error !== undefined) this.#errors.push(result.error);
    this.#status = { ...this.#status, ...result.status };
    this.#requeueAfterMs = Math.min(this.#requeueAfterMs, result.requeueAfterMs ?? Number.POSITIVE_INFINITY);
    return result.value;
  }

  get hasFailed(): boolean {
    return this.#errors.length > 0;
  }

  /** The objects of other owners that have blocked a step so far. */
  get conflicts(): readonly ForeignObject[] {
    return this.#conflicts;
  }

  /** The reported states so far, by type. */
  get conditions(): ReadonlyMap<string, ConditionState> {
    const said = [...this.#conditions].filter((entry): entry is [string, ConditionState] => {
      return typeof entry[1] === "object";
    });
    return new Map(said);
  }

  /** Merges the results of the steps into a status: for `writeStatus`. */
  applyTo(
    current: Partial<S>,
    at: { readonly observedGeneration: number | undefined; readonly now: number },
  ): Partial<S> {
    let conditions: readonly Condition[] = current.conditions ?? [];
    for (const [type, state] of this.#conditions) {
      if (state === "none") conditions = conditions.filter((condition) => condition.type !== type);
      else if (state) conditions = setCondition(conditions, type, { ...state, ...at });
    }
    return { ...current, ...this.#status, conditions } as Partial<S>;
  }

  /** The result of the run; throws the errors of the steps and `alsoFailed`. */
  finish(...alsoFailed: readonly unknown[]): Action {
    const errors = [...this.#errors, ...alsoFailed];
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, `${errors.length} steps failed`);
    return Number.isFinite(this.#requeueAfterMs) ? requeue(this.#requeueAfterMs) : awaitChange;
  }

  async #attempt<V>(step: () => Promise<StepResult<S, V>>): Promise<StepResult<S, V>> {
    try {
      return await step();
    } catch (error) {
      if (error instanceof AlreadyOwnedError) this.#conflicts.push(...error.objects);
      const { retryAfterMs, ...state } = this.#explain(error);
      const condition = { status: "False", ...state } as const;
      return retryAfterMs === undefined ? { condition, error } : { condition, requeueAfterMs: retryAfterMs };
    }
  }
}
