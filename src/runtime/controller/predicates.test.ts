import { expect, test } from "vitest";
import { stored } from "../../../test/support/stored.ts";
import type { Change } from "../cache/store.ts";
import type { KubeObject, ObjectMeta } from "../object.ts";
import { specOrMetadataChanged } from "./predicates.ts";

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
  expect(specOrMetadataChanged({ type: "added", object, previous: undefined, ...origin })).toBe(true);
  expect(specOrMetadataChanged({ type: "deleted", object, previous: object, ...origin })).toBe(true);
});
