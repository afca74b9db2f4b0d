/** How long the other side is left alone after a failure. */
export interface BackoffRule {
  readonly ms: number;
  /** Whether other inputs are reason enough to try at once. */
  readonly endsOnChange: boolean;
}

/** One attempt: when it is made, and a fingerprint of all that its outcome depends on. */
export interface Attempt {
  readonly inputs: string;
  readonly now: number;
}

/** The failure of the last attempt, and when the next one is due. */
export interface BackedOff<F> {
  readonly failure: F;
  readonly retryInMs: number;
}

/**
 * Remembers the last failure, so that runs in between do not repeat the attempt. It lives in memory: a restart of the
 * operator ends every backoff, and so does a change of inputs where the rule for the kind of failure says so.
 */
export class Backoff<F extends { readonly kind: string }> {
  readonly #ruleFor: (failure: F, inARow: number) => BackoffRule;
  #last: (BackoffRule & { readonly failure: F; readonly inputs: string; readonly until: number }) | undefined;
  #inARow = 0;

  /** `inARow` counts failures of the same kind before this one. */
  constructor(ruleFor: (failure: F, inARow: number) => BackoffRule) {
    this.#ruleFor = ruleFor;
  }

  /** The last failure, while it is too early for this attempt. */
  current({ inputs, now }: Attempt): BackedOff<F> | undefined {
    const last = this.#last;
    if (!last || now >= last.until || (last.endsOnChange && last.inputs !== inputs)) return undefined;
    return { failure: last.failure, retryInMs: last.until - now };
  }

  /** Whether the last attempt failed, however long ago. */
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
