import { expect, test } from "vitest";
import { type Graph, withoutImplied } from "../../folders/graph.ts";
import { crossings, layersOf } from "./layers.ts";
import { draw, modulePicture } from "./picture.ts";

function graphOf(imports: Readonly<Record<string, readonly string[]>>): Graph {
  return new Map(Object.entries(imports).map(([room, imported]) => [room, new Set(imported)]));
}

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
