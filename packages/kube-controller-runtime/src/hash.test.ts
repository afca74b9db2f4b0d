import { expect, test } from "vitest";
import { fnv1a32, fnv1a64 } from "./hash.ts";

test.each([
  ["", "811c9dc5", "cbf29ce484222325"],
  ["a", "e40c292c", "af63dc4c8601ec8c"],
  ["foobar", "bf9cf968", "85944171f73967e8"],
])("FNV-1a of %j matches the published test vectors", (text, short, long) => {
  expect(fnv1a32(text)).toBe(short);
  expect(fnv1a64(text)).toBe(long);
});
