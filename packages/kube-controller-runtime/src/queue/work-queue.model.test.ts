import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { settle, VirtualClock } from "../../testing/clock.ts";
import { backoff } from "../backoff.ts";
import { TerminalError } from "../errors.ts";
import { type Action, awaitChange, requeue } from "./action.ts";
import { type Priority, WorkQueue } from "./work-queue.ts";
import { runWorkers } from "./workers.ts";

const policy = { baseMs: 200, capMs: 5_000 };

type Ending = { as: "success" } | { as: "requeue"; afterMs: number } | { as: "fail" } | { as: "terminal" };

type Operation =
  | { do: "add"; key: string; afterMs: number; priority: Priority }
  | { do: "end"; pick: number; ending: Ending }
  | { do: "advance"; ms: number };

const delay = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 4_000 }));
const ending: fc.Arbitrary<Ending> = fc.oneof(
  fc.constant({ as: "success" as const }),
  fc.record({ as: fc.constant("requeue" as const), afterMs: delay }),
  fc.constant({ as: "fail" as const }),
  fc.constant({ as: "terminal" as const }),
);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({
    do: fc.constant("add" as const),
    key: fc.constantFrom(..."abcdefghijkl"),
    afterMs: delay,
    priority: fc.constantFrom<Priority>("fresh", "resync"),
  }),
  fc.record({ do: fc.constant("end" as const), pick: fc.nat(), ending }),
  fc.record({ do: fc.constant("advance" as const), ms: fc.integer({ min: 0, max: 3_000 }) }),
);

interface Wish {
  key: string;
  due: number;
  order: number;
  priority: Priority;
}

/** The queue's guarantees in the simplest implementation. */
class Model {
  now = 0;
  readonly started: string[] = [];
  readonly running = new Map<string, Priority>();
  readonly wishes = new Map<string, Wish>();
  readonly failures = new Map<string, number>();
  readonly workers: number;
  readonly random: number;
  freshInARow = 0;
  order = 0;

  constructor(workers: number, random: number) {
    this.workers = workers;
    this.random = random;
  }

  add(key: string, afterMs: number, priority: Priority): void {
    const wish = this.wishes.get(key) ?? { key, due: Infinity, order: this.order++, priority };
    wish.due = Math.min(wish.due, this.now + afterMs);
    if (priority === "fresh") wish.priority = "fresh";
    this.wishes.set(key, wish);
    this.start();
  }

  end(key: string, ended: Ending): void {
    const priority = this.running.get(key) ?? "fresh";
    this.running.delete(key);
    if (ended.as === "fail") {
      const failures = (this.failures.get(key) ?? 0) + 1;
      this.failures.set(key, failures);
      this.add(
        key,
        backoff(policy, failures, () => this.random),
        priority,
      );
      return;
    }
    this.failures.delete(key);
    if (ended.as === "requeue") this.add(key, Math.max(ended.afterMs, 10), priority);
    this.start();
  }

  advance(ms: number): void {
    const until = this.now + ms;
    const moments = [...this.wishes.values()].map((wish) => wish.due).filter((due) => due <= until);
    for (const moment of [...moments, until].sort((a, b) => a - b)) {
      this.now = Math.max(this.now, moment);
      this.start();
    }
  }

  get ready(): Wish[] {
    return [...this.wishes.values()]
      .filter((wish) => wish.due <= this.now && !this.running.has(wish.key))
      .sort((a, b) => a.due - b.due || a.order - b.order);
  }

  start(): void {
    while (this.running.size < this.workers && this.ready.length > 0) {
      const fresh = this.ready.find((wish) => wish.priority === "fresh");
      const resync = this.ready.find((wish) => wish.priority === "resync");
      const next = resync && this.freshInARow >= 8 ? resync : (fresh ?? resync);
      this.freshInARow = next === fresh && resync ? this.freshInARow + 1 : 0;
      if (!next) return;
      this.wishes.delete(next.key);
      this.running.set(next.key, next.priority);
      this.started.push(next.key);
    }
  }
}

/** A real queue with real workers, whose runs end when the test says so. */
function startReal(concurrency: number, random: number) {
  const clock = new VirtualClock();
  const queue = new WorkQueue({ clock, random: () => random, backoff: policy });
  const stop = new AbortController();
  const started: string[] = [];
  const ends = new Map<string, (ended: Ending) => void>();
  const work = (key: string) =>
    new Promise<Action>((resolve, reject) => {
      if (ends.has(key)) throw new Error(`${key} runs twice at once`);
      started.push(key);
      ends.set(key, (ended) => {
        ends.delete(key);
        if (ended.as === "fail") reject(new Error("failed"));
        else if (ended.as === "terminal") reject(new TerminalError("hopeless"));
        else resolve(ended.as === "requeue" ? requeue(ended.afterMs) : awaitChange);
      });
    });
  const finished = runWorkers(queue, { clock, concurrency, signal: stop.signal, work });
  return { clock, queue, started, ends, stop: () => stop.abort(), finished };
}

async function perform(step: Operation, real: ReturnType<typeof startReal>, model: Model): Promise<void> {
  if (step.do === "advance") {
    model.advance(step.ms);
    await real.clock.advance(step.ms);
  } else if (step.do === "add") {
    model.add(step.key, step.afterMs, step.priority);
    real.queue.add(step.key, { afterMs: step.afterMs, priority: step.priority });
  } else if (model.running.size > 0) {
    const keys = [...model.running.keys()];
    const key = keys[step.pick % keys.length] ?? "";
    model.end(key, step.ending);
    real.ends.get(key)?.(step.ending);
  }
  await settle();
}

describe("WorkQueue against its model", () => {
  it("starts the same keys in the same order as the model", async () => {
    const script = fc.array(operation, { maxLength: 60, size: "max" });
    const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(script, fc.integer({ min: 1, max: 4 }), jitter, async (steps, workers, random) => {
        const real = startReal(workers, random);
        const model = new Model(workers, random);
        for (const step of steps) {
          await perform(step, real, model);
          expect(real.started).toEqual(model.started);
          expect([...real.ends.keys()].sort()).toEqual([...model.running.keys()].sort());
          expect(real.queue.depth).toBe(model.ready.length);
          expect(real.clock.pending).toBeLessThanOrEqual(1);
        }
        real.stop();
        for (const end of [...real.ends.values()]) end({ as: "success" });
        await real.finished;
        expect(real.clock.pending).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});
