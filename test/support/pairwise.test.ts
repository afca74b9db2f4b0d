import { expect, it } from "vitest";
import { pairwise } from "./pairwise.ts";

const factors = {
  size: ["s", "m", "l"],
  color: ["red", "blue"],
  sleeves: [true, false],
  neck: ["round", "v", "polo", "none"],
} as const;

it("combines every two values of different factors", () => {
  const rows = pairwise(factors);
  const names = Object.keys(factors) as (keyof typeof factors)[];
  for (const [index, one] of names.entries()) {
    for (const other of names.slice(index + 1)) {
      const met = new Set(rows.map((row) => `${row[one]} ${row[other]}`));
      expect(met.size, `${one} and ${other}`).toBe(factors[one].length * factors[other].length);
    }
  }
});

it("needs far fewer rows than there are combinations", () => {
  expect(pairwise(factors).length).toBeLessThan(16);
});

it("always gives the same rows", () => {
  expect(pairwise(factors)).toEqual(pairwise(factors));
});
