import { expect, test } from "vitest";
import { amountOf } from "./differences.ts";

test.each([
  ["2000m", "2"],
  ["4096Mi", "4Gi"],
  ["1.5", "1500m"],
  ["1e3", "1k"],
  [2, "2"],
])("%s is as much as %s", (one, other) => {
  expect(amountOf(one)).toBe(amountOf(other));
  expect(amountOf(one)).toBeDefined();
});

test.each(["", "lots", "2 Gi", "-1", "1Xi", {}, "9".repeat(100_000)])("%j is not a quantity", (value) => {
  expect(amountOf(value)).toBeUndefined();
});
