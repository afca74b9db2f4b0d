import { describe, expect, it } from "vitest";
import type { Condition } from "../conditions.ts";
import { awaitChange, requeue } from "../queue/action.ts";
import { Steps } from "./steps.ts";

interface Status {
  url?: string;
  tier?: string;
  conditions?: Condition[];
}

const at = { observedGeneration: 3, now: Date.UTC(2026, 0, 1) };
const fine = { status: "True", reason: "Done", message: "" } as const;
const explain = () => ({ reason: "Broken", message: "the step broke, see the log" });
const newSteps = () => new Steps<Status>(explain);

describe("a step", () => {
  it("gives its value to the steps after it", async () => {
    expect(await newSteps().run("A", async () => ({ condition: fine, value: 42 }))).toBe(42);
  });

  it("owns its condition, which is put into the status with the generation", async () => {
    const steps = newSteps();
    await steps.run("A", async () => ({ condition: fine }));
    expect(steps.applyTo({}, at).conditions).toEqual([
      { type: "A", ...fine, observedGeneration: 3, lastTransitionTime: "2026-01-01T00:00:00Z" },
    ]);
  });

  it("that throws turns its condition False with the explanation, never the error's own words", async () => {
    const steps = newSteps();
    const value = await steps.run("A", () => Promise.reject(new Error("password is hunter2")));
    expect(value).toBeUndefined();
    expect(steps.applyTo({}, at).conditions).toMatchObject([{ type: "A", status: "False", ...explain() }]);
    expect(JSON.stringify(steps.applyTo({}, at))).not.toContain("hunter2");
  });

  it("that fails prevents neither other steps nor their results in the status", async () => {
    const steps = newSteps();
    await steps.run("A", async () => ({ condition: fine, status: { url: "http://a" } }));
    await steps.run("B", () => Promise.reject(new Error("b")));
    await steps.run("C", async () => ({ condition: fine, status: { tier: "trial" } }));
    const { conditions, ...fields } = steps.applyTo({}, at);
    expect(conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      "A=True",
      "B=False",
      "C=True",
    ]);
    expect(fields).toEqual({ url: "http://a", tier: "trial" });
  });

  it("without a result, or that did not run, leaves its condition and fields unchanged", async () => {
    const steps = newSteps();
    await steps.run("A", async () => ({}));
    const current = {
      url: "http://a",
      conditions: [{ type: "A", ...fine, lastTransitionTime: "2025-01-01T00:00:00Z" }],
    };
    expect(steps.applyTo(current, at)).toEqual(current);
  });
});

describe("the end of a run", () => {
  it("waits for a change if no step requests more", async () => {
    const steps = newSteps();
    await steps.run("A", async () => ({ condition: fine }));
    expect(steps.finish()).toEqual(awaitChange);
  });

  it("is requeued at the earliest time that a step requested", async () => {
    const steps = newSteps();
    await steps.run("A", async () => ({ requeueAfterMs: 120_000 }));
    await steps.run("B", async () => ({ requeueAfterMs: 30_000 }));
    await steps.run("C", async () => ({ requeueAfterMs: 60_000 }));
    expect(steps.finish()).toEqual(requeue(30_000));
  });

  it("throws the error of the step that failed, so that it is retried with backoff", async () => {
    const steps = newSteps();
    const error = new Error("b");
    await steps.run("A", async () => ({ requeueAfterMs: 1_000 }));
    await steps.run("B", () => Promise.reject(error));
    expect(() => steps.finish()).toThrow(error);
  });

  it("throws an error that a step only reported, with the condition that the step chose", async () => {
    const steps = newSteps();
    const condition = { status: "False", reason: "Unreachable", message: "no answer from db" } as const;
    await steps.run("A", async () => ({ condition, error: new Error("timeout") }));
    expect(steps.applyTo({}, at).conditions).toMatchObject([condition]);
    expect(() => steps.finish()).toThrow("timeout");
  });

  it("keeps all errors, that of the status write included", async () => {
    const steps = newSteps();
    await steps.run("A", () => Promise.reject(new Error("a")));
    await steps.run("B", () => Promise.reject(new Error("b")));
    let thrown: unknown;
    try {
      steps.finish(new Error("status write"));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(AggregateError);
    expect((thrown as AggregateError).errors.map(({ message }) => message)).toEqual([
      "a",
      "b",
      "status write",
    ]);
  });
});
