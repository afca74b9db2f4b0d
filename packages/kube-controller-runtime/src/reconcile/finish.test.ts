import { beforeEach, describe, expect, test } from "vitest";
import { stored } from "../../testing/stored.ts";
import { apiError, stubClient } from "../../testing/stub-client.ts";
import { Widget, type WidgetStatus } from "../../testing/widget.ts";
import { type ConditionState, type RunContext, Steps, type Stored } from "../index.ts";
import { explain } from "./explain.ts";
import { finish, type StartMemory } from "./finish.ts";

const now = Date.UTC(2026, 0, 1);
const broken = { status: "False", reason: "Broken", message: "it broke" } as const;

let steps: Steps<WidgetStatus>;
let reported: string[];
let memory: Partial<StartMemory>;
let elapsedMs: number;
let runMs: number;
let written: { metadata?: object; status: WidgetStatus }[];
beforeEach(() => {
  steps = new Steps<WidgetStatus>(explain);
  [reported, written] = [[], []];
  [memory, elapsedMs, runMs] = [{}, 0, 0];
});

function widget(status: WidgetStatus = {}): Stored<Widget> {
  const { apiVersion, kind } = Widget;
  return stored<Widget>({ apiVersion, kind, status }, { generation: 7 });
}

/** Ends a run with an API server that handles a status write as the test says. */
function end(object = widget(), patchStatus = takeStatus) {
  const client = stubClient({ patchStatus });
  const events = { event: (_: unknown, { reason }: { reason: string }) => void reported.push(reason) };
  const clock = { now: () => now + elapsedMs + runMs };
  const context = { client, events, clock } as unknown as RunContext;
  const run = {
    kind: Widget,
    object,
    now: now + elapsedMs,
    quiet: new Set(["Pending", "Waiting", "Unreported"]),
  };
  return finish(steps, run, { context, memory });
}

async function takeStatus(...[, , patch]: [unknown, unknown, { status: WidgetStatus }]) {
  written.push(patch);
  return { ...widget(), status: patch.status };
}

describe("while an object starts", () => {
  const pending = { status: "False", reason: "Pending", message: "pods start" } as const;
  const notReady = { status: "False", reason: "Pending", message: "pods start" } as const;
  const starts = async (part: ConditionState = pending) => {
    await steps.run("A", async () => ({ condition: part, requeueAfterMs: 60_000 }));
    await steps.run("Ready", async () => ({ condition: notReady }));
  };

  test("a status that says no more than that is written after a second, if it still says so", async () => {
    await starts();
    expect(await end()).toEqual({ kind: "requeue", afterMs: 1_000 });
    elapsedMs = 900;
    expect(await end()).toEqual({ kind: "requeue", afterMs: 100 });
    expect(written).toEqual([]);
    elapsedMs = 1_000;
    expect(await end()).toEqual({ kind: "requeue", afterMs: 60_000 });
    expect(written).toHaveLength(1);
  });

  test("where runs take long, it is written after five times as long as the first took, ten seconds at most", async () => {
    for (const [tookMs, waitMs] of [
      [1_500, 7_500],
      [9_000, 10_000],
    ] as const) {
      [memory, elapsedMs, runMs] = [{}, 0, tookMs];
      await starts();
      await end();
      [elapsedMs, runMs] = [waitMs - 1, 0];
      expect(await end()).toEqual({ kind: "requeue", afterMs: 1 });
    }
    expect(written).toEqual([]);
  });

  test("it is written at most once a second, regardless of the changes in between", async () => {
    for (const turn of Array(80).keys()) {
      elapsedMs = turn * 50;
      await starts({ ...pending, reason: turn % 2 ? "Pending" : "Waiting" });
      await end();
    }
    expect(written).toHaveLength(3);
  });

  test("a run that has nothing new to say about it causes no other", async () => {
    await starts();
    await end();
    elapsedMs = 1_000;
    await end();
    const lastTransitionTime = "2025-01-01T00:00:00Z";
    const conditions = Object.entries({ A: pending, Ready: notReady }).map(([type, state]) => ({
      ...{ type, ...state, lastTransitionTime },
      observedGeneration: 7,
    }));
    elapsedMs = 1_100;
    const ended = end(widget({ conditions, observedGeneration: 7 }));
    expect(await ended).toEqual({ kind: "requeue", afterMs: 60_000 });
    expect(written).toHaveLength(1);
  });

  test("one that waits for the report of another object is written after thirty seconds, or soon after that report", async () => {
    await starts({ ...pending, reason: "Unreported" });
    expect(await end()).toEqual({ kind: "requeue", afterMs: 30_000 });
    elapsedMs = 29_999;
    await end();
    expect(written).toEqual([]);
    await starts();
    expect(await end()).toEqual({ kind: "requeue", afterMs: 1_000 });
    elapsedMs = 31_000;
    await end();
    expect(written).toHaveLength(1);
  });

  test("a clock that is set back causes no longer delay", async () => {
    await starts();
    await end();
    elapsedMs = -3_600_000;
    await end();
    expect(written).toHaveLength(1);
  });

  test("a problem that is not part of a normal start is reported at once", async () => {
    await starts(broken);
    await end();
    expect(written).toHaveLength(1);
  });

  test("a failed step is reported at once", async () => {
    await starts();
    await steps.run("B", async () => ({ error: new Error("no") }));
    await expect(end()).rejects.toThrow("no");
    expect(written).toHaveLength(1);
  });

  test("its readiness is reported at once", async () => {
    await steps.run("A", async () => ({ condition: { status: "True", reason: "Applied", message: "" } }));
    await steps.run("Ready", async () => ({ condition: { status: "True", reason: "Serving", message: "" } }));
    await end();
    expect(written).toHaveLength(1);
  });

  test("that it serves is reported at once, also while something else is not as it should be", async () => {
    await starts();
    await steps.run("Available", async () => ({
      condition: { status: "True", reason: "Serving", message: "a pod is ready" },
    }));
    expect(await end()).toEqual({ kind: "requeue", afterMs: 60_000 });
    expect(written).toHaveLength(1);
  });

  test("an object that was ready is not starting: its problem is reported immediately", async () => {
    const lastTransitionTime = "2025-01-01T00:00:00Z";
    await starts();
    await end(
      widget({
        conditions: [{ type: "Ready", status: "True", reason: "Serving", message: "", lastTransitionTime }],
      }),
    );
    expect(written).toHaveLength(1);
  });
});

describe("the end of a run", () => {
  test("writes what the steps found, with the generation that they looked at, and emits an event for what broke", async () => {
    await steps.run("A", async () => ({ condition: broken, status: { url: "http://a" }, requeueAfterMs: 5 }));
    expect(await end()).toEqual({ kind: "requeue", afterMs: 5 });
    expect(written).toMatchObject([
      {
        metadata: { resourceVersion: "1" },
        status: {
          url: "http://a",
          observedGeneration: 7,
          conditions: [{ type: "A", observedGeneration: 7 }],
        },
      },
    ]);
    expect(reported).toEqual(["Broken"]);
  });

  test("writes nothing and emits nothing when nothing changed", async () => {
    const conditions = [
      { type: "A", ...broken, observedGeneration: 7, lastTransitionTime: "2025-01-01T00:00:00Z" },
    ];
    await steps.run("A", async () => ({ condition: broken }));
    expect(await end(widget({ conditions, observedGeneration: 7 }))).toEqual({ kind: "awaitChange" });
    expect([written, reported]).toEqual([[], []]);
  });

  test("writes the status of a run that failed, and then throws what it failed with", async () => {
    const failure = new Error("the step failed");
    await steps.run("A", () => Promise.reject(failure));
    await expect(end()).rejects.toBe(failure);
    expect(written).toMatchObject([{ status: { conditions: [{ type: "A", reason: "InternalError" }] } }]);
  });

  test("keeps both errors when the status can't be written either, and emits nothing", async () => {
    const [failure, refusal] = [new Error("the step failed"), apiError("InternalError")];
    await steps.run("A", () => Promise.reject(failure));
    const ended = end(widget(), () => Promise.reject(refusal));
    await expect(ended).rejects.toMatchObject({ errors: [failure, refusal] });
    expect(reported).toEqual([]);
  });

  test("throws the error of the status when the steps had none", async () => {
    const refusal = apiError("InternalError");
    await steps.run("A", async () => ({ condition: broken }));
    await expect(end(widget(), () => Promise.reject(refusal))).rejects.toBe(refusal);
  });
});
