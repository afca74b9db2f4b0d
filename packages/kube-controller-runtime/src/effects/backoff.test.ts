import { expect, test } from "vitest";
import { Backoff } from "./backoff.ts";

const MINUTE_MS = 60_000;

/** Doubles for consecutive failures; only `busy` does not end with a change of inputs. */
function aBackoff() {
  return new Backoff<{ kind: string }>(({ kind }, inARow) => ({
    ms: MINUTE_MS * 2 ** inARow,
    endsOnChange: kind !== "busy",
  }));
}

test("nothing is paused before a failure", () => {
  expect(aBackoff().current({ inputs: "a", now: 0 })).toBeUndefined();
  expect(aBackoff().hasFailed).toBe(false);
});

test("a failure is repeated until its time is over, and counts as failed until the next success", () => {
  const backoff = aBackoff();
  const failure = { kind: "down" };
  expect(backoff.begin(failure, { inputs: "a", now: 0 })).toEqual({ failure, retryInMs: MINUTE_MS });
  expect(backoff.current({ inputs: "a", now: 20_000 })).toEqual({ failure, retryInMs: 40_000 });
  expect(backoff.current({ inputs: "a", now: MINUTE_MS })).toBeUndefined();
  expect(backoff.hasFailed).toBe(true);
  backoff.end();
  expect(backoff.hasFailed).toBe(false);
});

test.each([
  ["down", true],
  ["busy", false],
])("other inputs end a backoff after %s: %s", (kind, ends) => {
  const backoff = aBackoff();
  backoff.begin({ kind }, { inputs: "a", now: 0 });
  expect(backoff.current({ inputs: "b", now: 1 }) === undefined).toBe(ends);
});

test("consecutive failures of one kind are counted; another kind, or a success, resets the count", () => {
  const backoff = aBackoff();
  const minutes = (kind: string) => backoff.begin({ kind }, { inputs: "", now: 0 }).retryInMs / MINUTE_MS;
  expect([minutes("down"), minutes("down"), minutes("down"), minutes("busy"), minutes("busy")]).toEqual([
    1, 2, 4, 1, 2,
  ]);
  backoff.end();
  expect(minutes("busy")).toBe(1);
});
