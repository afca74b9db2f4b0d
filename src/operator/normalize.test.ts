import { expect, test } from "vitest";
import { defined, distinctBy, distinctNames, secretKey, trimmed, unlessEmpty } from "./normalize.ts";

test.each([
  [undefined, undefined],
  ["", undefined],
  [" \t", undefined],
  [" name ", "name"],
])("%j trimmed is %j", (text, expected) => {
  expect(trimmed(text)).toBe(expected);
});

test("names are trimmed, blank ones skipped, repeats dropped, and the order kept", () => {
  expect(distinctNames([" b", "a", "", "b ", " "])).toEqual(["b", "a"]);
  expect(distinctNames(undefined)).toEqual([]);
});

test("the first of several entries with the same key is kept", () => {
  const entries = [
    { key: "a", n: 1 },
    { key: "b", n: 2 },
    { key: "a", n: 3 },
  ];
  expect(distinctBy(entries, ({ key }) => key)).toEqual([
    { key: "a", n: 1 },
    { key: "b", n: 2 },
  ]);
});

test.each([
  ["no reference", undefined, undefined],
  ["a blank name", { name: " ", key: "k" }, undefined],
  ["a name alone", { name: " s " }, { name: "s", key: "token" }],
  ["a blank key", { name: "s", key: " " }, { name: "s", key: "token" }],
  ["both", { name: "s", key: " k " }, { name: "s", key: "k" }],
])("a Secret reference with %s", (_case, ref, expected) => {
  expect(secretKey(ref, "token")).toEqual(expected);
});

test("only undefined counts as absent", () => {
  const fields = { a: undefined, b: 0, c: "", d: false, e: null };
  expect(Object.keys(defined(fields))).toEqual(["b", "c", "d", "e"]);
});

test("an empty list is left out", () => {
  expect(unlessEmpty([])).toBeUndefined();
  expect(unlessEmpty([1])).toEqual([1]);
});
