import { expect, test } from "vitest";
import { mergedTerm } from "./license-term.ts";

const NOW = 1_000;
const license = (starts: number, expires: number, graceEnds = expires) => ({
  starts: NOW + starts,
  expires: NOW + expires,
  graceEnds: NOW + graceEnds,
});

test.each([
  ["of one license is its own", [license(-10, 20, 30)], "inTerm", 20, 30],
  ["is over at its last moment, and grace begins", [license(-10, 0, 5)], "inGrace", 0, 5],
  ["is over with its grace", [license(-10, -5, 0)], "over", -5, 0],
  [
    "of two licenses that overlap ends with the later",
    [license(-10, 20), license(5, 90, 95)],
    "inTerm",
    90,
    95,
  ],
  [
    "is not longer for a license that ends within another",
    [license(-10, 50), license(0, 20)],
    "inTerm",
    50,
    50,
  ],
  [
    "goes on with a successor that begins when it ends",
    [license(20, 60), license(-10, 20)],
    "inTerm",
    60,
    60,
  ],
  [
    "ends where a gap follows, though a later license is there",
    [license(-10, 20), license(21, 60)],
    "inTerm",
    20,
    20,
  ],
  [
    "that counts is the current one, not one in its grace",
    [license(-30, -20, 5), license(-10, 9)],
    "inTerm",
    9,
    9,
  ],
  ["in grace stays so until the next begins", [license(-30, -20, 5), license(2, 9)], "inGrace", -20, 5],
  ["that begins later is not started", [license(2, 9, 11)], "notStarted", 9, 11],
  ["over is followed by one that is not started", [license(-9, -2), license(2, 9)], "notStarted", 9, 9],
  ["over is that which ended last", [license(-9, -7), license(-5, -2)], "over", -2, -2],
  ["that ends before it begins counts for nothing", [license(9, 2, 50), license(-5, 3)], "inTerm", 3, 3],
] as const)("the term %s", (_, licenses, state, expires, graceEnds) => {
  const expected = { state, expires: NOW + expires, graceEnds: NOW + graceEnds };
  expect(mergedTerm(licenses, NOW)).toMatchObject(expected);
  expect(mergedTerm(licenses.toReversed(), NOW)).toMatchObject(expected);
});

test("there is no term without licenses", () => {
  expect(mergedTerm([], NOW)).toBeUndefined();
});
