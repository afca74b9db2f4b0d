import type { Attempt, BackedOff, Backoff } from "./backoff.ts";

/** The requirements of a plan; `nothing` if the state is as desired. */
export type Needs =
  | "nothing"
  | {
      /**
       * A request to the external system. Without it, the plan only writes to Kubernetes and can be carried
       * out at any time.
       */
      readonly external?: true;
      /**
       * It can't be undone. Because caches may lag behind even own writes, the plan is made again from the
       * API server's state.
       */
      readonly irreversible?: true;
    };

/** The result of an act: the next state, or why the run ends here. */
export type Progress<State, F> =
  | { readonly next: State }
  | { readonly failed: F }
  /** The spec has changed or the object is being deleted, so nothing could be recorded: the run must end. */
  | { readonly overtaken: true };

/**
 * A change in an external system that outlives the process, described by its states and plans:
 *
 *     observe ──► plan ──► record the intention ──► act ──► record the result ──┐
 *                  ▲                                                            │
 *                  └───────────────────────── next state ◄──────────────────────┘
 *
 * `plan` is pure and depends only on the state, not on its history. A run that is interrupted at any point is
 * resumed by planning again.
 */
export interface Effect<State extends { readonly isFresh: boolean }, Plan, F> {
  readonly plan: (state: State) => Plan;
  readonly needs: (plan: Plan, state: State) => Needs;
  /** Carries out a plan and records the result. */
  readonly act: (plan: Plan, state: State) => Promise<Progress<State, F>>;
  /** The state from the API server; only for effects with irreversible plans. */
  readonly refresh?: (state: State) => Promise<Progress<State, F>>;
}

/** The final state of a run, with its last plan. */
export type Settled<State, Plan, F> = { readonly state: State; readonly plan: Plan } & (
  | { readonly end: "settled" | "overtaken" | "notAllowed" }
  /** `isNew`: it failed in this run, and not in an earlier one whose backoff has not ended. */
  | ({ readonly end: "failed"; readonly isNew: boolean } & BackedOff<F>)
);

/** The attempt, and its backoff. */
export interface SettleOptions<F extends { readonly kind: string }> extends Attempt {
  readonly backoff: Backoff<F>;
  /** False: this run must not access the external system. */
  readonly allowExternal?: boolean;
}

const MAX_ACTS = 12;

/**
 * Plans and acts until there is nothing left to do, or nothing that can be done now. After a failure the
 * external system is not accessed for the time that `pause` returns; plans that only change own objects are
 * still carried out.
 */
export async function settle<
  State extends { readonly isFresh: boolean },
  Plan,
  F extends { readonly kind: string },
>(effect: Effect<State, Plan, F>, start: State, options: SettleOptions<F>): Promise<Settled<State, Plan, F>> {
  const { backoff, allowExternal = true } = options;
  const backedOff = backoff.current(options);
  let [state, hasCalled] = [start, false];
  for (let acts = 0; acts < MAX_ACTS; acts++) {
    const plan = effect.plan(state);
    const needs = effect.needs(plan, state);
    if (needs === "nothing") {
      if (hasCalled) backoff.end();
      return { end: "settled", state, plan };
    }
    if (needs.external && !allowExternal) return { end: "notAllowed", state, plan };
    if (needs.external && backedOff) return { end: "failed", isNew: false, state, plan, ...backedOff };
    const refresh = needs.irreversible && !state.isFresh ? effect.refresh : undefined;
    const progress = await (refresh ? refresh(state) : effect.act(plan, state));
    if ("overtaken" in progress) return { end: "overtaken", state, plan };
    if ("failed" in progress)
      return { end: "failed", isNew: true, state, plan, ...backoff.begin(progress.failed, options) };
    state = progress.next;
    hasCalled ||= needs.external === true && !refresh;
  }
  throw new Error(`an effect was not settled by ${MAX_ACTS} acts`);
}
