import { expect, test } from "vitest";
import { findCycle, type Graph, siblingGraph, strayImports } from "./graph.ts";

function graphOf(imports: Readonly<Record<string, readonly string[]>>): Graph {
  return new Map(Object.entries(imports).map(([room, imported]) => [room, new Set(imported)]));
}

test("a cycle of folders is found and named in order", () => {
  expect(findCycle(graphOf({ a: ["b"], b: ["c", "d"], c: [], d: ["b"] }))).toEqual(["b", "d", "b"]);
  expect(findCycle(graphOf({ a: ["b", "c"], b: ["c"], c: [] }))).toBeUndefined();
});

test.each([
  ["folders", "src/a/x.ts", "src/b/x.ts", "src/b/y.ts", "src/a/y.ts", ["src/a", "src/b", "src/a"]],
  [
    "subfolders",
    "src/a/b/x.ts",
    "src/a/c/x.ts",
    "src/a/c/y.ts",
    "src/a/b/y.ts",
    ["src/a/b", "src/a/c", "src/a/b"],
  ],
  ["a folder and a file beside it", "a/b/x.ts", "a/y.ts", "a/y.ts", "a/b/c/z.ts", ["a/b", "a/y.ts", "a/b"]],
])("a cycle of %s is found, whichever of their files it goes through", (_, from, to, back, there, cycle) => {
  const imports = [
    [from, to],
    [back, there],
  ] as const;
  expect(findCycle(siblingGraph(imports))).toEqual(cycle);
  expect(findCycle(siblingGraph(imports.slice(0, 1)))).toBeUndefined();
});

test.each([
  [
    "from another kind",
    "src/operator/metrics/metrics.ts",
    "src/operator/control-plane/token/secret.ts",
    true,
  ],
  ["from kubectl coder", "src/plugin/problems.ts", "src/operator/provisioner/key/plan.ts", true],
  ["from its kind", "src/operator/provisioner/cleanup.ts", "src/operator/provisioner/key/retire.ts", false],
  ["of what kinds share", "src/operator/upgrade/gather.ts", "src/operator/workload/pods/rollout.ts", false],
  ["of a file beside the features", "src/plugin/problems.ts", "src/operator/upgrade/check.ts", false],
])("an import of a feature %s is judged", (_, file, target, isStray) => {
  expect(strayImports([[file, target]])).toHaveLength(isStray ? 1 : 0);
});
