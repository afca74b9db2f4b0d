import { expect, test } from "vitest";
import { DatabaseProblem } from "./failure.ts";
import { isTrue, milliseconds, texts } from "./values.ts";

test("only what the server writes for true is true", () => {
  expect(["t", "f", "true", null, undefined].map(isTrue)).toEqual([true, false, false, false, false]);
});

test("texts come out of a JSON array as they are", () => {
  expect(texts('["owner","with \\"quotes\\", commas"]')).toEqual(["owner", 'with "quotes", commas']);
  expect(texts("[]")).toEqual([]);
});

test.for(["", "{owner}", "[1]", '"owner"', null, undefined])("%j is not a list of strings", (value) => {
  expect(() => texts(value)).toThrow(DatabaseProblem);
});

test("seconds become whole milliseconds", () => {
  expect(milliseconds("1763232211.123456")).toBe(1_763_232_211_123);
});

test.for(["", "Infinity", "infinity", "2026-01-01", null, undefined])("%j is not a time", (value) => {
  expect(() => milliseconds(value)).toThrow(DatabaseProblem);
});
