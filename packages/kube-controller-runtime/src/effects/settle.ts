import type { Attempt, BackedOff, Backoff } from "./backoff.ts";

/** What carrying out a plan takes; `nothing` when all is as it should be. */
export type Needs =
  | "nothing"
  | {
      /** A request to the other side. Without it the plan only writes to Kubernetes, and is carried out any time. */
      readonly otherSide?: true;
      /**
       * It can't be undone. Caches may lag behind even our own writes, so such a plan is made once more on what the API
       * server says.
       */
      readonly certainty?: true;
    };

/** What came of an act: the next state to plan on, or why the run ends here. */
export type Progress<State, F> =
  | { readonly next: State }
  | { readonly failed: F }
  /** A newer spec or a deletion came first, so that nothing could be recorded: the run must not go on. */
  | { readonly overtaken: true };

/**
 * A change on another side that outlives the process, described by its states and plans:
 *
 *     observe ──► plan ──► record the intention ──► act ──► record the result ──┐
 *                  ▲                                                            │
 *                  └───────────────────────── next state ◄──────────────────────┘
 *
 * `plan` is pure and decides by what is, not by how it came about. So a run that dies between any two of these is
 * resumed by planning anew.
 */
export interface Effect<State extends { readonly isFresh: boolean }, Plan, F> {
  readonly plan: (state: State) => Plan;
  readonly needs: (plan: Plan, state: State) => Needs;
  /** Carries out a plan and records the result. */
  readonly act: (plan: Plan, state: State) => Promise<Progress<State, F>>;
  /** The state as the API server has it; only for effects with plans that need certainty. */
  readonly refresh?: (state: State) => Promise<Progress<State, F>>;
}

/** Where a run got to, with the plan that it ended on. */
export type Settled<State, Plan, F> = { readonly state: State; readonly plan: Plan } & (
  | { readonly end: "settled" | "overtaken" | "notAllowed" }
  /** `isNew`: in this run, and not in an earlier one after which the other side is still left alone. */
  | ({ readonly end: "failed"; readonly isNew: boolean } & BackedOff<F>)
);

/** The attempt, and what keeps it from asking the other side. */
export interface SettleOptions<F extends { readonly kind: string }> extends Attempt {
  readonly backoff: Backoff<F>;
  /** False: the other side must not be asked at all in this run. */
  readonly mayAsk?: boolean;
}

const MAX_ACTS = 12;

/**
 * Plans and acts until nothing is left to do, or nothing that can be done now. After a failure the other side is left
 * alone for as long as `pause` says; what needs only our own objects is still done meanwhile.
 */
export async function settle<
  State extends { readonly isFresh: boolean },
  Plan,
  F extends { readonly kind: string },
>(effect: Effect<State, Plan, F>, start: State, options: SettleOptions<F>): Promise<Settled<State, Plan, F>> {
  const { backoff, mayAsk = true } = options;
  const backedOff = backoff.current(options);
  let [state, hasAsked] = [start, false];
  for (let acts = 0; acts < MAX_ACTS; acts++) {
    const plan = effect.plan(state);
    const needs = effect.needs(plan, state);
    if (needs === "nothing") {
      if (hasAsked) backoff.end();
      return { end: "settled", state, plan };
    }
    if (needs.otherSide && !mayAsk) return { end: "notAllowed", state, plan };
    if (needs.otherSide && backedOff) return { end: "failed", isNew: false, state, plan, ...backedOff };
    const refresh = needs.certainty && !state.isFresh ? effect.refresh : undefined;
    const progress = await (refresh ? refresh(state) : effect.act(plan, state));
    if ("overtaken" in progress) return { end: "overtaken", state, plan };
    if ("failed" in progress)
      return { end: "failed", isNew: true, state, plan, ...backoff.begin(progress.failed, options) };
    state = progress.next;
    hasAsked ||= needs.otherSide === true && !refresh;
  }
  throw new Error(`an effect was not settled by ${MAX_ACTS} acts`);
}
