import { expect, test } from "vitest";
import { conditionsOf } from "./conditions.ts";

const seeds = Array.from({ length: 20 }, (_, index) => 1_000 + index);

test("the conditions of a run are the same for the same seed", () => {
  for (const seed of seeds) expect(conditionsOf(seed)).toEqual(conditionsOf(seed));
});

test("twenty runs in a row meet every load and every delay", () => {
  const drawn = seeds.map(conditionsOf);
  expect(new Set(drawn.map(({ hogs }) => hogs))).toEqual(new Set([0, 1, 2, 4]));
  expect(new Set(drawn.map(({ apiDelayMs }) => apiDelayMs))).toEqual(new Set([0, 2, 10, 30]));
});
