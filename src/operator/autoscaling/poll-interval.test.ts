import { describe, expect, it } from "vitest";
import { NOW, poolWithDaemons, seen, waiting } from "../../../test/support/queue.ts";
import { decide } from "./decide.ts";
import { isMoving, pauseAfterFailure, pauseAfterPoll } from "./poll-interval.ts";

const pollMs = 15_000;

it.each([
  ["while nothing moves", { isMoving: false, tookMs: 50 }, 15_000],
  ["sooner while something does", { isMoving: true, tookMs: 50 }, 5_000],
  ["later when coderd is slow", { isMoving: true, tookMs: 2_000 }, 40_000],
  ["at the latest after two minutes", { isMoving: true, tookMs: 9_000 }, 120_000],
])("the next poll happens %s", (_, look, expected) => {
  expect(pauseAfterPoll({ pollMs, ...look })).toBe(expected);
});

it.each([
  ["the usual time after the first", { failures: 1, retryAfterMs: undefined }, 15_000],
  ["twice as long after each further one", { failures: 3, retryAfterMs: undefined }, 60_000],
  ["two minutes at most", { failures: 30, retryAfterMs: undefined }, 120_000],
  ["for as long as coderd asks", { failures: 1, retryAfterMs: 90_000 }, 90_000],
])("failed polls pause %s", (_, failure, expected) => {
  expect(pauseAfterFailure({ pollMs, ...failure })).toBe(expected);
});

describe("something moves", () => {
  const moving = (crew: string, jobs: number, max = 10) => {
    const one = poolWithDaemons(crew, { max });
    return isMoving(decide([one.pool], seen([one], waiting(jobs)), NOW).decisions, NOW);
  };

  it.each([
    ["when a number changes", "b", 1, 10, true],
    ["while pods start", "bs", 0, 10, true],
    ["not while daemons just work", "bb", 0, 10, false],
    ["not while builds wait for a pool at its maximum", "bb", 5, 2, false],
    ["not while nothing happens", "", 0, 10, false],
  ])("%s", (_, crew, jobs, max, expected) => {
    expect(moving(crew, jobs, max)).toBe(expected);
  });
});
