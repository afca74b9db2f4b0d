/** How long to wait after a failure. */
export interface BackoffRule {
  readonly ms: number;
  /** Whether changed inputs end the wait. */
  readonly endsOnChange: boolean;
}

/** One attempt: its time, and a fingerprint of all inputs of its result. */
export interface Attempt {
  readonly inputs: string;
  readonly now: number;
}

/** The last failure, and the time of the next attempt. */
export interface BackedOff<F> {
  readonly failure: F;
  readonly retryInMs: number;
}

/**
 * Remembers the last failure, so that runs in between do not repeat the attempt. It is kept in memory: a
 * restart of the operator ends every backoff, and so does a change of inputs if the rule says so.
 */
export class Backoff<F extends { readonly kind: string }> {
  readonly #ruleFor: (failure: F, inARow: number) => BackoffRule;
  #last: (BackoffRule & { readonly failure: F; readonly inputs: string; readonly until: number }) | undefined;
  #inARow = 0;

  /** `inARow` counts the preceding failures of the same kind. */
  constructor(ruleFor: (failure: F, inARow: number) => BackoffRule) {
    this.#ruleFor = ruleFor;
  }

  /** The last failure, while it is too early for this attempt. */
  current({ inputs, now }: Attempt): BackedOff<F> | undefined {
    const last = this.#last;
    if (!last || now >= last.until || (last.endsOnChange && last.inputs !== inputs)) return undefined;
    return { failure: last.failure, retryInMs: last.until - now };
  }

  /** Whether the last attempt failed, at any time. */
  get hasFailed(): boolean {
    return this.#last !== undefined;
  }

  begin(failure: F, { inputs, now }: Attempt): BackedOff<F> {
    this.#inARow = this.#last?.failure.kind === failure.kind ? this.#inARow + 1 : 0;
    const rule = this.#ruleFor(failure, this.#inARow);
    this.#last = { ...rule, failure, inputs, until: now + rule.ms };
    return { failure, retryInMs: rule.ms };
  }

  end(): void {
    this.#last = undefined;
  }
}
