import { describe, expect, it } from "vitest";
import { settle, VirtualClock } from "../../testing/clock.ts";
import { ApiError } from "../client/error.ts";
import { TerminalError } from "../errors.ts";
import { type Action, awaitChange, requeue } from "./action.ts";
import { WorkQueue } from "./work-queue.ts";
import { type Outcome, runWorkers } from "./workers.ts";

function start(work: (key: string) => Promise<Action>, concurrency = 1) {
  const clock = new VirtualClock();
  const queue = new WorkQueue({ clock, random: () => 1, backoff: { baseMs: 200, capMs: 300_000 } });
  const stop = new AbortController();
  const outcomes: (Outcome & { key: string; durationMs: number })[] = [];
  const finished = runWorkers(queue, {
    clock,
    concurrency,
    signal: stop.signal,
    work,
    onOutcome: (key, outcome) => outcomes.push({ key, ...outcome }),
  });
  return { clock, queue, stop, outcomes, finished };
}

const throttled = (retryAfter?: number) =>
  new ApiError("list pods: too many requests", { reason: "TooManyRequests", code: 429, retryAfter });

describe("runWorkers", () => {
  it("sleeps after awaitChange until the key is added again", async () => {
    const { clock, queue, outcomes } = start(async () => awaitChange);
    queue.add("a");
    await clock.advance(86_400_000);
    expect(outcomes.map(({ result }) => result)).toEqual(["success"]);
  });

  it("runs a key again after the time its run asked for", async () => {
    const { clock, queue, outcomes } = start(async () => requeue(30_000));
    queue.add("a");
    await clock.advance(29_999);
    expect(outcomes).toHaveLength(1);
    await clock.advance(1);
    expect(outcomes).toHaveLength(2);
    expect(outcomes[1]).toMatchObject({ result: "requeue", afterMs: 30_000, durationMs: 0 });
  });

  it("retries a failed key with growing waits and says when", async () => {
    const { clock, queue, outcomes } = start(async () => {
      throw new Error("boom");
    });
    queue.add("a");
    await clock.advance(200 + 400 + 800);
    expect(outcomes.map((outcome) => outcome.result === "error" && outcome.retryInMs)).toEqual([
      200, 400, 800, 1_600,
    ]);
    expect(outcomes.at(-1)).toMatchObject({ key: "a", failures: 4 });
  });

  it.each([
    ["by the error itself", throttled(5_000), 5_200],
    ["by the cause of the error", new Error("step failed", { cause: throttled(5_000) }), 5_200],
    ["by one of several errors", new AggregateError([new Error("x"), throttled(5_000)]), 5_200],
    ["without a time, by a second", throttled(), 1_200],
    ["by any other server's error", Object.assign(new Error("busy"), { retryAfter: 7_000 }), 7_200],
  ])("waits as long as it was asked to %s", async (_, error, wait) => {
    const { clock, queue, outcomes } = start(async () => {
      throw error;
    });
    queue.add("a");
    await clock.advance(wait - 1);
    expect(outcomes).toHaveLength(1);
    await clock.advance(1);
    expect(outcomes).toHaveLength(2);
  });

  it.each([
    ["a terminal error", new TerminalError("no such region")],
    ["an error caused by one", new Error("step failed", { cause: new TerminalError("no such region") })],
    ["several that all are", new AggregateError([new TerminalError("a"), new TerminalError("b")])],
  ])("does not retry %s, and runs the key when it is added again", async (_, error) => {
    const { clock, queue, outcomes } = start(async () => {
      throw error;
    });
    queue.add("a");
    await clock.advance(86_400_000);
    expect(outcomes.map(({ result }) => result)).toEqual(["terminal"]);
    queue.add("a");
    await settle();
    expect(outcomes).toHaveLength(2);
  });

  it("retries when only some of several errors are terminal", async () => {
    const { clock, queue, outcomes } = start(async () => {
      throw new AggregateError([new TerminalError("a"), new Error("b")]);
    });
    queue.add("a");
    await clock.advance(200);
    expect(outcomes.map(({ result }) => result)).toEqual(["error", "error"]);
  });

  it("waits for a moment even if a run requests the next one immediately or in the past", async () => {
    const { clock, queue, outcomes } = start(async () => requeue(-5));
    queue.add("a");
    await clock.advance(95);
    expect(outcomes).toHaveLength(10);
  });

  it("treats a requeue time that is not a number as a failure, not as now", async () => {
    const { clock, queue, outcomes } = start(async () => requeue(Number.NaN));
    queue.add("a");
    await clock.advance(199);
    expect(outcomes.map(({ result }) => result)).toEqual(["error"]);
  });

  it("runs as many keys concurrently as it has workers, and a slow key delays no other", async () => {
    const running: string[] = [];
    const { queue, outcomes } = start((key) => {
      running.push(key);
      return key === "slow" ? new Promise(() => {}) : Promise.resolve(awaitChange);
    }, 2);
    for (const key of ["slow", "a", "b", "c"]) queue.add(key);
    await settle();
    expect(running).toEqual(["slow", "a", "b", "c"]);
    expect(outcomes.map(({ key }) => key)).toEqual(["a", "b", "c"]);
  });

  it("starts nothing after the signal and resolves when the runs that had begun are over", async () => {
    const ends: (() => void)[] = [];
    const { queue, stop, finished, outcomes } = start(
      () => new Promise((resolve) => ends.push(() => resolve(awaitChange))),
    );
    let over = false;
    void finished.then(() => {
      over = true;
    });
    queue.add("a");
    queue.add("b");
    await settle();
    stop.abort();
    await settle();
    expect(over).toBe(false);
    ends[0]?.();
    await finished;
    expect(outcomes.map(({ key }) => key)).toEqual(["a"]);
  });
});
