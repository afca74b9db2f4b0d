import { expect, test } from "vitest";
import type { CoderFailure } from "../../coder/failure.ts";
import { type RateLimitMemory, retryDelay } from "./retry.ts";

const message = "";
const transient: CoderFailure = { kind: "transient", message };
const rateLimited: CoderFailure = { kind: "rateLimited", message };
const longest = () => 1;

test.each<[CoderFailure, number]>([
  [transient, 30_000],
  [{ kind: "forbidden", why: "unauthenticated", message }, 30_000],
  [{ kind: "notEntitled", message }, 120_000],
  [{ kind: "unsupported", message }, 600_000],
  [{ kind: "invalid", message }, 600_000],
])("coderd is left alone after $kind", (failure, expected) => {
  expect(retryDelay(failure, {}, longest)).toBe(expected);
});

test("a coderd that limits requests is asked less and less, until it answers otherwise", () => {
  const memory: RateLimitMemory = {};
  const waits = [rateLimited, rateLimited, rateLimited, transient, rateLimited].map((failure) =>
    retryDelay(failure, memory, longest),
  );
  expect(waits).toEqual([2_000, 4_000, 8_000, 30_000, 2_000]);
});

test("what coderd asks for is honoured", () => {
  expect(retryDelay({ ...rateLimited, retryAfterMs: 60_000 }, {}, () => 0)).toBe(60_000);
});
