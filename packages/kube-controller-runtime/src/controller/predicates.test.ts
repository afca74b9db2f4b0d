import { expect, test } from "vitest";
import { stored } from "../../testing/stored.ts";
import type { Change } from "../cache/store.ts";
import type { Secret } from "../kinds.ts";
import type { KubeObject, ObjectMeta } from "../object.ts";
import { contentChanged, specOrMetadataChanged } from "./predicates.ts";

const metadata: Partial<ObjectMeta> = {
  generation: 1,
  labels: { a: "1" },
  annotations: { a: "1" },
  finalizers: ["f"],
};

function update(after: Partial<ObjectMeta>): Change<KubeObject> {
  const [previous, object] = [
    stored({}, metadata),
    stored({}, { ...metadata, resourceVersion: "2", ...after }),
  ];
  return { type: "updated", object, previous, ownWrite: false, fromList: false };
}

test.each<[string, Partial<ObjectMeta>]>([
  ["the spec", { generation: 2 }],
  ["a label", { labels: { a: "2" } }],
  ["an annotation", { annotations: { a: "1", b: "1" } }],
  ["the finalizers", { finalizers: [] }],
  ["the deletion", { deletionTimestamp: "2026-01-01T00:00:00Z" }],
  ["the incarnation", { uid: "another" }],
])("a change of %s causes a run", (_, after) => {
  expect(specOrMetadataChanged(update(after))).toBe(true);
});

test.each<[string, Partial<ObjectMeta>]>([
  ["the status alone", {}],
  ["who manages which field", { managedFields: [{ manager: "x" }] }],
])("a change of %s causes none", (_, after) => {
  expect(specOrMetadataChanged(update(after))).toBe(false);
});

test("what is new or gone causes a run", () => {
  const object = stored({}, metadata);
  const origin = { ownWrite: false, fromList: true };
  for (const when of [specOrMetadataChanged, contentChanged]) {
    expect(when({ type: "added", object, previous: undefined, ...origin })).toBe(true);
    expect(when({ type: "deleted", object, previous: object, ...origin })).toBe(true);
  }
});

test.each<[string, Secret & { status?: object }, Partial<ObjectMeta>, boolean]>([
  ["its data", { data: { a: "Mg==" } }, {}, true],
  ["a label", { data: { a: "MQ==" } }, { labels: { a: "2" } }, true],
  ["its owner", { data: { a: "MQ==" } }, { ownerReferences: [] }, true],
  ["the status alone", { data: { a: "MQ==" }, status: { ready: true } }, {}, false],
  ["who manages which field", { data: { a: "MQ==" } }, { managedFields: [{ manager: "x" }] }, false],
])("whether a child whose status is ignored has changed: %s", (_, after, meta, changed) => {
  const previous = stored<Secret>({ data: { a: "MQ==" } }, metadata);
  const object = stored(after, { ...metadata, resourceVersion: "2", ...meta });
  expect(contentChanged({ type: "updated", object, previous, ownWrite: false, fromList: false })).toBe(
    changed,
  );
});
