import { expect, test } from "vitest";
import { isPausedBy } from "./pause.ts";

test.each([
  ["true", true],
  ["True", true],
  [" TRUE ", true],
  ["false", false],
  ["", false],
  ["yes", false],
])("an object whose annotation is %j is paused: %s", (value, expected) => {
  const annotations = { "example.com/paused": value };
  expect(isPausedBy("example.com/paused", { metadata: { annotations } })).toBe(expected);
});

test("an object without the annotation is not paused", () => {
  expect(isPausedBy("example.com/paused", {})).toBe(false);
});
