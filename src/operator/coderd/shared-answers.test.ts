import { VirtualClock } from "kube-controller-runtime/testing";
import { beforeEach, expect, test } from "vitest";
import type { CoderFailure } from "../../coder/failure.ts";
import { failed, succeeded } from "../../coder/result.ts";
import { type Question, SharedAnswers } from "./shared-answers.ts";

type Names = readonly string[];

let clock: VirtualClock;
let answers: SharedAnswers;
let asked: string[];
let failure: CoderFailure | undefined;
let tookMs: number;
beforeEach(() => {
  clock = new VirtualClock();
  answers = new SharedAnswers(clock);
  [asked, failure, tookMs] = [[], undefined, 0];
});

const subject = { url: "http://coder", token: "secret", what: "names" };
function observe(changes: Partial<Question<Names>> = {}) {
  const ask = async () => {
    asked.push("names");
    if (tookMs > 0) await clock.sleep(tookMs);
    return failure ? failed(failure) : succeeded<Names>(["first"]);
  };
  return answers.ask({ ...subject, maxAgeMs: 2_000, ask, ...changes });
}

test("concurrent callers share one request", async () => {
  tookMs = 100;
  const answers = Promise.all([observe(), observe({ maxAgeMs: 0 }), observe()]);
  await clock.advance(100);
  expect(new Set(await answers).size).toBe(1);
  expect(asked).toEqual(["names"]);
});

test("an answer serves until it is older than the asker allows", async () => {
  await observe();
  await clock.advance(1_999);
  await observe();
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  await observe({ maxAgeMs: 60_000 });
  expect(asked).toHaveLength(1);
  await observe();
  await observe({ maxAgeMs: 0 });
  expect(asked).toHaveLength(3);
});

test.each<[string, Partial<Question<Names>>]>([
  ["question", { what: "other" }],
  ["coderd", { url: "http://other" }],
  ["token", { token: "of-another-user" }],
])("a result is not shared with another %s", async (_, changes) => {
  await observe();
  await observe(changes);
  expect(asked).toHaveLength(2);
});

test("after a failure coderd is not asked for an increasing time, or as long as it requests", async () => {
  failure = { kind: "transient", message: "down" };
  expect(await observe()).toEqual({ seen: false, failure, inARow: 1, retryInMs: 2_000 });
  await clock.advance(500);
  expect(await observe()).toEqual({ seen: false, failure, inARow: 1, retryInMs: 1_500 });
  expect(asked).toHaveLength(1);
  await clock.advance(1_500);
  expect(await observe()).toMatchObject({ retryInMs: 4_000 });
  await clock.advance(4_000);
  failure = { kind: "rateLimited", message: "slow down", retryAfterMs: 90_000 };
  expect(await observe()).toMatchObject({ retryInMs: 90_000 });
  await clock.advance(90_000);
  failure = undefined;
  expect(await observe()).toMatchObject({ seen: true });
});

test("a failure hides what coderd said before it", async () => {
  await observe();
  failure = { kind: "transient", message: "down" };
  await observe({ maxAgeMs: 0 });
  expect(await observe({ maxAgeMs: 600_000 })).toMatchObject({ seen: false });
});

test("a slow coderd is asked less often", async () => {
  tookMs = 1_000;
  const slow = observe();
  await clock.advance(1_000);
  await slow;
  await clock.advance(18_000);
  await observe();
  expect(asked).toHaveLength(1);
});

const add = (names: Names) => [...new Set([...names, "second"])];

test("what this process changes shows in the answer that it has", async () => {
  await observe();
  answers.update(subject, add);
  expect(await observe()).toMatchObject({ value: ["first", "second"] });
  expect(asked).toHaveLength(1);
});

test("what this process changes shows in an answer that was on its way, which may be from an earlier request", async () => {
  tookMs = 100;
  const answer = observe();
  answers.update(subject, add);
  await clock.advance(100);
  expect(await answer).toMatchObject({ value: ["first", "second"] });
  expect(await observe()).toMatchObject({ value: ["first", "second"] });
});

test("results beyond the limit are dropped, first those of the coderd that takes the most space", async () => {
  const limited = new SharedAnswers(clock, 20_000);
  const counts = new Map<string, number>();
  const read = (url: string, what: string, length: number) =>
    limited.ask({
      ...{ url, token: "secret", what, maxAgeMs: 60_000 },
      ask: async () => {
        counts.set(`${url} ${what}`, (counts.get(`${url} ${what}`) ?? 0) + 1);
        return succeeded("x".repeat(length));
      },
    });
  await read("http://quiet", "names", 9_000);
  for (const what of ["a", "b", "c"]) await read("http://hostile", what, 5_000);
  const longest = await read("http://hostile", "d", 1_000_000);
  // The result is returned, but not kept.
  expect(longest).toMatchObject({ seen: true });
  await read("http://quiet", "names", 9_000);
  expect(counts.get("http://quiet names")).toBe(1);
  await read("http://hostile", "d", 1_000_000);
  expect(counts.get("http://hostile d")).toBe(2);
});
