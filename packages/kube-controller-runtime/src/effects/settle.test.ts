import { beforeEach, describe, expect, test } from "vitest";
import { Backoff } from "./backoff.ts";
import { type Effect, type Needs, type Progress, settle } from "./settle.ts";

interface State {
  readonly isFresh: boolean;
  readonly steps: readonly string[];
}
type Plan = { readonly do: "keep" | "tidy" | "ask" | "make" };
type Failure = { readonly kind: string };

const needs: Record<Plan["do"], Needs> = {
  keep: "nothing",
  tidy: {},
  ask: { external: true },
  make: { external: true, irreversible: true },
};

let acts: string[];
let backoff: Backoff<Failure>;
beforeEach(() => {
  acts = [];
  backoff = new Backoff(() => ({ ms: 30_000, endsOnChange: true }));
});

/** Carries out `plans` in sequence; `outcome` may replace the result of one. */
function effect(
  plans: readonly Plan["do"][],
  outcome: Partial<Record<Plan["do"], Progress<State, Failure>>> = {},
): Effect<State, Plan, Failure> {
  return {
    plan: ({ steps }) => ({ do: plans[steps.length] ?? "keep" }),
    needs: (plan) => needs[plan.do],
    refresh: async (state) => {
      acts.push("refresh");
      return { next: { ...state, isFresh: true } };
    },
    act: async (plan, state) => {
      acts.push(plan.do);
      return outcome[plan.do] ?? { next: { ...state, steps: [...state.steps, plan.do] } };
    },
  };
}

const start: State = { isFresh: false, steps: [] };
const run = (described: Effect<State, Plan, Failure>, { now = 0, allowExternal = true } = {}) =>
  settle(described, start, { inputs: "same", now, backoff, allowExternal });
const down = { failed: { kind: "down" } };

describe("an effect", () => {
  test("is planned and carried out until nothing is left to do", async () => {
    expect(await run(effect(["ask", "tidy"]))).toMatchObject({ end: "settled", plan: { do: "keep" } });
    expect(acts).toEqual(["ask", "tidy"]);
  });

  test("does what can't be undone only after a look past the caches, which one run needs once", async () => {
    await run(effect(["make", "make"]));
    expect(acts).toEqual(["refresh", "make", "make"]);
  });

  test("stops when a newer spec was stored first", async () => {
    expect(await run(effect(["tidy", "ask"], { tidy: { overtaken: true } }))).toMatchObject({
      end: "overtaken",
    });
    expect(acts).toEqual(["tidy"]);
  });

  test("that never settles is a fault", async () => {
    await expect(run(effect(Array(20).fill("tidy")))).rejects.toThrow("not settled");
  });

  test("does not ask the other side where it must not", async () => {
    const ended = await run(effect(["tidy", "ask"]), { allowExternal: false });
    expect(ended).toMatchObject({ end: "notAllowed", plan: { do: "ask" } });
    expect(acts).toEqual(["tidy"]);
  });
});

describe("after a failure", () => {
  test("the external system is not called, and plans for own objects are still carried out", async () => {
    const failure = { kind: "down" };
    expect(await run(effect(["tidy", "ask"], { ask: down }))).toMatchObject({
      ...{ end: "failed", isNew: true, failure, retryInMs: 30_000, plan: { do: "ask" } },
      state: { steps: ["tidy"] },
    });
    expect(await run(effect(["tidy", "ask"]), { now: 10_000 })).toMatchObject({
      ...{ end: "failed", isNew: false, failure, retryInMs: 20_000 },
    });
    expect(acts).toEqual(["tidy", "ask", "tidy"]);
  });

  test("the backoff ends with the first run that asks and settles", async () => {
    await run(effect(["ask"], { ask: down }));
    await run(effect(["tidy"]), { now: 40_000 });
    expect(backoff.hasFailed).toBe(true);
    await run(effect(["ask"]), { now: 40_000 });
    expect(backoff.hasFailed).toBe(false);
  });
});
