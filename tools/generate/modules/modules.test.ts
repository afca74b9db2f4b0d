import { expect, test } from "vitest";
import { findCycle, type Graph, siblingGraph, withoutImplied } from "./graph.ts";
import { crossings, layersOf } from "./layers.ts";
import { draw, modulePicture } from "./picture.ts";

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

test("an import that a longer way implies is left out of the picture", () => {
  const graph = withoutImplied(graphOf({ a: ["b", "c"], b: ["c"], c: [] }));
  expect(graph).toEqual(graphOf({ a: ["b"], b: ["c"], c: [] }));
});

test("layers are put in an order in which no arrows cross when there is one", () => {
  const layers = layersOf(graphOf({ a: ["z"], b: ["y"], c: ["x", "y"], x: [], y: [], z: [] }));
  expect(crossings(layers)).toBe(0);
});

test("an arrow that passes a layer bends in it instead of crossing its boxes", () => {
  const layers = layersOf(graphOf({ a: ["b", "d"], b: ["c"], c: ["e"], d: [], e: [] }));
  expect(layers.map((layer) => layer.length)).toEqual([1, 2, 2, 2]);
});

test("every room has a box and every import an arrow", () => {
  const picture = draw(graphOf({ a: ["b", "c"], b: [], c: [] }));
  expect(picture.match(/<text /g)).toHaveLength(3);
  expect(picture.match(/marker-end/g)).toHaveLength(2);
});

test("the folders of this project import each other in one direction", () => {
  const picture = modulePicture();
  for (const room of ["kube-controller-runtime", "coder", "operator/provisioner", "lab"])
    expect(picture).toContain(`>${room}</text>`);
});
