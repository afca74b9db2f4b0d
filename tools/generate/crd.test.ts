import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { generatedFiles } from "./outputs.ts";
import type { Schema } from "./structural.ts";

const crds = [...generatedFiles()]
  .filter(([path]) => path.startsWith("config/crd/"))
  .map(([path, content]) => ({ path, content, crd: parse(content) }));

/** Every schema below `schema` with its path. */
function* walk(schema: Schema, path = ""): Generator<[string, Schema]> {
  yield [path, schema];
  for (const [name, field] of Object.entries(schema.properties ?? {})) yield* walk(field, `${path}.${name}`);
  if (schema.items) yield* walk(schema.items, `${path}[]`);
  if (schema.additionalProperties) yield* walk(schema.additionalProperties, `${path}{}`);
}

function schemasOf(crd: { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } }) {
  return crd.spec.versions.flatMap(({ schema }) => [...walk(schema.openAPIV3Schema)]);
}

function isLimited(schema: Schema): boolean {
  const rules = JSON.stringify(schema["x-kubernetes-validations"] ?? []);
  if (schema.type === "array") return schema.maxItems !== undefined;
  if (schema.additionalProperties) return schema.maxProperties !== undefined && rules.includes("key.size()");
  const isText = schema.type === "string" || schema["x-kubernetes-int-or-string"];
  return !isText || schema.enum !== undefined || schema.maxLength !== undefined;
}

/** Client-side `kubectl apply` stores the whole manifest in an annotation, which is limited to this size. */
const annotationLimit = 256 * 1024;

describe.each(crds)("$path", ({ content, crd }) => {
  it("has a description on every field", () => {
    const silent = schemasOf(crd).filter(
      ([path, { description }]) => !description && !/^\.metadata\b|\[\]$|\{\}$/.test(path),
    );
    expect(silent).toEqual([]);
  });

  it("keeps no unknown fields anywhere", () => {
    expect(content).not.toContain("preserve-unknown-fields");
  });

  it("limits every text, list and map, and the keys of maps", () => {
    const unlimited = schemasOf(crd).filter(
      ([path, schema]) => /^\.(spec|status)/.test(path) && !isLimited(schema),
    );
    expect(unlimited.map(([path]) => path)).toEqual([]);
  });

  it("has a type, or takes integers and strings, at every place", () => {
    const untyped = schemasOf(crd).filter(
      ([, schema]) => !schema.type && !schema["x-kubernetes-int-or-string"],
    );
    expect(untyped).toEqual([]);
  });

  it("fits into the annotation that plain kubectl apply writes", () => {
    expect(JSON.stringify(crd).length).toBeLessThan(annotationLimit);
  });

  it("says in every rule what to write", () => {
    const rules = schemasOf(crd).flatMap(([, schema]) => schema["x-kubernetes-validations"] ?? []);
    expect(rules).toEqual(
      rules.map(() => expect.objectContaining({ message: expect.stringMatching(/\w+ \w+/) })),
    );
  });

  it("has status conditions as a map by type", () => {
    const conditions = schemasOf(crd).find(([path]) => path === ".status.conditions")?.[1];
    expect(conditions).toMatchObject({
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    });
  });
});

it("gives the kinds their short names and one category", () => {
  const names = crds.map(({ crd }) => crd.spec.names);
  expect(names.map(({ shortNames }) => shortNames)).toEqual([
    ["ccp"],
    ["cprov"],
    ["cwp"],
    ["corg"],
    ["cgrp"],
  ]);
  expect(names.map(({ categories }) => categories)).toEqual(Array(names.length).fill(["coder"]));
});
