import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { settle, VirtualClock } from "../../testing/clock.ts";
import { type QueueObserver, WorkQueue } from "./work-queue.ts";

const policy = { baseMs: 200, capMs: 300_000 };

function newQueue(random = 1, observer?: QueueObserver) {
  const clock = new VirtualClock();
  const queue = new WorkQueue({
    clock,
    random: () => random,
    backoff: policy,
    ...(observer && { observer }),
  });
  /** Takes every key that is ready and ends its run immediately. */
  const drain = async () => {
    const keys: string[] = [];
    while (queue.depth > 0) {
      const key = (await queue.take()) ?? "";
      keys.push(key);
      queue.succeed(key);
    }
    return keys;
  };
  return { clock, queue, drain };
}

const delays = fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 1, maxLength: 20 });

describe("WorkQueue", () => {
  it("sets no timer in the past, however long reading the clock takes", async () => {
    const clock = new (class extends VirtualClock {
      #looks = 0;
      override monotonic(): number {
        return super.monotonic() + 10 * this.#looks++;
      }
      override setTimer(callback: () => void, ms: number): () => void {
        expect(ms).toBeGreaterThanOrEqual(0);
        return super.setTimer(callback, ms);
      }
    })();
    const queue = new WorkQueue({ clock, random: () => 1 });
    const taken = queue.take();
    queue.add("a", { afterMs: 25 });
    await clock.advance(100);
    expect(await taken).toBe("a");
  });

  it("never hands a key to a second worker while the first has it", async () => {
    const { clock, queue } = newQueue();
    queue.add("a");
    expect(await queue.take()).toBe("a");
    queue.add("a");
    let second: string | undefined;
    void queue.take().then((key) => {
      second = key;
    });
    await clock.advance(3_600_000);
    expect(second).toBeUndefined();
    queue.succeed("a");
    await settle();
    expect(second).toBe("a");
  });

  it("reruns a key once, regardless of how often it was added while it ran", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), async (times) => {
        const { clock, queue, drain } = newQueue();
        queue.add("a");
        await queue.take();
        for (let n = 0; n < times; n++) queue.add("a");
        queue.succeed("a");
        expect(await drain()).toEqual(["a"]);
        await clock.advance(3_600_000);
        expect(await drain()).toEqual([]);
      }),
    );
  });

  it("runs a key once, at the earliest of the times asked for", async () => {
    await fc.assert(
      fc.asyncProperty(delays, async (asked) => {
        const { clock, queue, drain } = newQueue();
        for (const afterMs of asked) queue.add("a", { afterMs });
        const earliest = Math.min(...asked);
        if (earliest > 0) {
          await clock.advance(earliest - 1);
          expect(queue.depth).toBe(0);
          await clock.advance(1);
        }
        expect(await drain()).toEqual(["a"]);
        await clock.advance(20_000);
        expect(await drain()).toEqual([]);
      }),
    );
  });

  it("prefers an event during the run over the requeue that the run requested", async () => {
    const { queue, drain } = newQueue();
    queue.add("a");
    await queue.take();
    queue.add("a");
    queue.succeed("a", 60_000);
    expect(await drain()).toEqual(["a"]);
  });

  it("doubles a key's wait with every failure in a row and starts over after a success", async () => {
    const { clock, queue } = newQueue();
    const waits: number[] = [];
    queue.add("a");
    for (const ending of ["fail", "fail", "fail", "succeed", "fail"] as const) {
      await queue.take();
      if (ending === "succeed") queue.succeed("a", 0);
      else waits.push(queue.fail("a").retryInMs);
      await clock.advance(ending === "succeed" ? 0 : (waits.at(-1) ?? 0));
    }
    expect(waits).toEqual([200, 400, 800, 200]);
  });

  it("counts failures per key", async () => {
    const { queue } = newQueue();
    queue.add("a");
    queue.add("b");
    await queue.take();
    await queue.take();
    queue.fail("a");
    expect(queue.fail("b")).toEqual({ retryInMs: 200, failures: 1 });
  });

  it("runs a failed key immediately after an event, but does not forget its failures", async () => {
    const { queue } = newQueue();
    queue.add("a");
    await queue.take();
    queue.fail("a");
    queue.add("a");
    expect(await queue.take()).toBe("a");
    expect(queue.fail("a")).toEqual({ retryInMs: 400, failures: 2 });
  });

  it("waits its backoff on top of what the server asked for", async () => {
    const { clock, queue } = newQueue();
    queue.add("a");
    await queue.take();
    expect(queue.fail("a", 30_000).retryInMs).toBe(30_200);
    await clock.advance(30_199);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(queue.depth).toBe(1);
  });

  it("starts keys of one priority in the order they became due", async () => {
    const times = fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 50 });
    await fc.assert(
      fc.asyncProperty(times, async (asked) => {
        const { clock, queue, drain } = newQueue();
        for (const [n, afterMs] of asked.entries()) queue.add(`${n}`, { afterMs });
        await clock.advance(500);
        const inOrder = [...asked.entries()].sort(([, a], [, b]) => a - b).map(([n]) => `${n}`);
        expect(await drain()).toEqual(inOrder);
      }),
    );
  });

  it("starts fresh keys before resyncs that have waited longer", async () => {
    const { queue, drain } = newQueue();
    for (const key of ["r1", "r2"]) queue.add(key, { priority: "resync" });
    for (const key of ["f1", "f2"]) queue.add(key);
    expect(await drain()).toEqual(["f1", "f2", "r1", "r2"]);
  });

  it("turns a waiting resync into a fresh key after an event, and never the reverse", async () => {
    const { queue, drain } = newQueue();
    for (const key of ["r1", "r2", "r3"]) queue.add(key, { priority: "resync" });
    queue.add("r3");
    queue.add("r3", { priority: "resync" });
    expect(await drain()).toEqual(["r3", "r1", "r2"]);
  });

  it("keeps the priority of a key that is retried or requeued", async () => {
    const { clock, queue, drain } = newQueue();
    for (const key of ["r1", "r2"]) queue.add(key, { priority: "resync" });
    await queue.take();
    await queue.take();
    queue.fail("r1");
    queue.succeed("r2", 100);
    await clock.advance(200);
    queue.add("f");
    expect(await drain()).toEqual(["f", "r2", "r1"]);
  });

  it("starts a resync after at most eight fresh keys, regardless of the number of events", async () => {
    const { queue } = newQueue();
    queue.add("resync", { priority: "resync" });
    const started: string[] = [];
    for (let n = 0; n < 20; n++) {
      queue.add(`${n}`);
      const key = (await queue.take()) ?? "";
      started.push(key);
      queue.succeed(key);
    }
    expect(started.indexOf("resync")).toBe(8);
  });

  it("loses no key and runs none twice when 10,000 are added at random times", async () => {
    const { clock, queue } = newQueue();
    const runs = new Map<string, number>();
    for (let n = 0; n < 10_000; n++) queue.add(`${n}`, { afterMs: ((n * 7919) % 600) * 100 });
    const consume = async () => {
      for (let key = await queue.take(); key; key = await queue.take()) {
        runs.set(key, (runs.get(key) ?? 0) + 1);
        queue.succeed(key);
      }
    };
    const workers = [consume(), consume(), consume()];
    await clock.advance(30_000);
    expect(clock.pending).toBe(1);
    await clock.advance(30_000);
    queue.close();
    await Promise.all(workers);
    expect(runs.size).toBe(10_000);
    expect(Math.max(...runs.values())).toBe(1);
  });

  it("arms no timer while no worker waits, and none after it is closed", async () => {
    const { clock, queue } = newQueue();
    queue.add("a", { afterMs: 1_000 });
    expect(clock.pending).toBe(0);
    const taken = queue.take();
    expect(clock.pending).toBe(1);
    queue.close();
    expect(await taken).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it("sets timers of whole milliseconds, and never longer than the platform supports", async () => {
    const { clock, queue } = newQueue();
    const asked: number[] = [];
    const setTimer = clock.setTimer.bind(clock);
    clock.setTimer = (callback, ms) => {
      asked.push(ms);
      return setTimer(callback, ms);
    };
    queue.add("a", { afterMs: 30 * 86_400_000 - 0.3 });
    const taken = queue.take();
    await clock.advance(30 * 86_400_000);
    expect(await taken).toBe("a");
    expect(asked.every(Number.isInteger)).toBe(true);
    expect(Math.max(...asked)).toBeLessThan(2 ** 31);
  });

  it("refuses a delay that is not a number, and remains usable", async () => {
    const { queue, drain } = newQueue();
    expect(() => queue.add("a", { afterMs: Number.NaN })).toThrow(RangeError);
    queue.add("b");
    expect(await drain()).toEqual(["b"]);
  });

  it("refuses the end of a run that never began", () => {
    const { queue } = newQueue();
    expect(() => queue.succeed("a")).toThrow("a is not running");
  });

  it("reports adds, retries, waits, work and depth to its observer", async () => {
    const seen: string[] = [];
    let depth = () => -1;
    const { clock, queue } = newQueue(1, {
      depthFrom: (read) => {
        depth = read;
      },
      added: () => seen.push("added"),
      retried: () => seen.push("retried"),
      started: (ms) => seen.push(`waited ${ms}`),
      finished: (ms) => seen.push(`worked ${ms}`),
    });
    queue.add("a", { afterMs: 100 });
    queue.add("a");
    queue.add("a");
    await clock.advance(30);
    expect(depth()).toBe(1);
    await queue.take();
    await clock.advance(50);
    queue.fail("a");
    expect(depth()).toBe(0);
    expect(seen).toEqual(["added", "waited 30", "worked 50", "retried", "added"]);
  });
});

describe("the order in which a fleet is served", () => {
  /** Unlimited workers: the keys that the queue has returned. */
  function served(queue: WorkQueue): string[] {
    const keys: string[] = [];
    const serve = async () => {
      for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
        keys.push(key);
        void serve();
      }
    };
    void serve();
    return keys;
  }

  const names = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, each) => `${prefix}${each}`);

  it("no key is started while a new key waits or runs, and changed keys are processed", async () => {
    const { clock, queue } = newQueue();
    const keys = served(queue);
    queue.add("look", { priority: "new" });
    queue.add("start", { priority: "start" });
    queue.add("change");
    await clock.advance(500);
    expect(keys).toEqual(["look", "change"]);
    queue.succeed("look");
    await clock.advance(0);
    expect(keys).toEqual(["look", "change", "start"]);
  });

  it("the run after a first look is a start, and the one after that is not", async () => {
    const { clock, queue } = newQueue();
    const keys = served(queue);
    queue.add("other", { priority: "new" });
    queue.add("a", { priority: "new" });
    await clock.advance(0);
    queue.succeed("a", 0);
    await clock.advance(0);
    expect(keys).toEqual(["other", "a"]);
    queue.succeed("other");
    await clock.advance(0);
    expect(keys).toEqual(["other", "a", "a"]);
    queue.add("late", { priority: "new" });
    queue.succeed("a", 0);
    await clock.advance(0);
    expect(keys).toEqual(["other", "a", "a", "late", "a"]);
  });

  it("at most eight run at a time, and another starts when one ends", async () => {
    const { clock, queue } = newQueue();
    const keys = served(queue);
    for (const key of names("s", 20)) queue.add(key, { priority: "start" });
    await clock.advance(500);
    expect(keys).toEqual(names("s", 8));
    queue.succeed("s3");
    await clock.advance(0);
    expect(keys).toEqual(names("s", 9));
  });

  it("a first status or a start that hangs delays other keys for at most two seconds", async () => {
    const { clock, queue } = newQueue();
    const keys = served(queue);
    queue.add("look", { priority: "new" });
    for (const key of names("s", 10)) queue.add(key, { priority: "start" });
    await clock.advance(1_999);
    expect(keys).toEqual(["look"]);
    await clock.advance(1);
    expect(keys).toEqual(["look", ...names("s", 8)]);
    await clock.advance(2_000);
    expect(keys).toEqual(["look", ...names("s", 10)]);
  });

  it("no key starves, regardless of the number of keys with a higher priority", async () => {
    const { queue } = newQueue();
    queue.add("start", { priority: "start" });
    queue.add("resync", { priority: "resync" });
    const keys: string[] = [];
    for (let turn = 0; turn < 40; turn++) {
      queue.add(`change ${turn}`);
      const key = (await queue.take()) ?? "";
      keys.push(key);
      queue.succeed(key);
    }
    expect(keys).toContain("start");
    expect(keys).toContain("resync");
  });
});
