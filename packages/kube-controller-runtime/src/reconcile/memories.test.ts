import { expect, test } from "vitest";
import { Memories } from "./reconciler.ts";

const NOW = Date.UTC(2026, 0, 1);
const HOUR_MS = 60 * 60_000;

interface Memory {
  seenAt?: number;
}

function remembered(): Memories<Memory> {
  const memories = new Memories<Memory>(() => ({}));
  memories.of("n/coder", "uid", NOW).seenAt = NOW;
  return memories;
}

test("an object is remembered from run to run, also over the corrections that clocks get all the time", () => {
  const memories = remembered();
  expect(memories.of("n/coder", "uid", NOW + HOUR_MS).seenAt).toBe(NOW);
  expect(memories.of("n/coder", "uid", NOW + HOUR_MS - 500).seenAt).toBe(NOW);
});

test("an object that was recreated or deleted is not remembered", () => {
  expect(remembered().of("n/coder", "another uid", NOW)).toEqual({});
  const memories = remembered();
  memories.forget("n/coder");
  expect(memories.of("n/coder", "uid", NOW)).toEqual({});
});

test("a clock that was set back ends all memories, so that nothing waits for a time that was already", () => {
  const memories = remembered();
  memories.of("n/other", "uid", NOW - HOUR_MS);
  expect(memories.of("n/coder", "uid", NOW - HOUR_MS)).toEqual({});
});
