import { expect, test } from "vitest";
import * as kinds from "../../src/api/v1alpha1/kinds.ts";
import { OUR_KINDS } from "../../src/plugin/objects.ts";
import { resources } from "./inputs.ts";

/** Lists in which a new kind is easily forgotten without another test to detect it. */
test.each([
  ["resources in tools/generate/inputs.ts", resources],
  ["OUR_KINDS in src/plugin/objects.ts", OUR_KINDS],
])('%s has every kind of the API; see "Add a kind" in CONTRIBUTING.md', (_, list) => {
  const listed = list.map(({ kind }) => kind.kind);
  expect(listed.sort()).toEqual(Object.keys(kinds).sort());
});
