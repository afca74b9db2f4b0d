import { expect, test } from "vitest";
import { stored } from "../../testing/stored.ts";
import type { Deployment } from "../kinds.ts";
import type { Stored } from "../object.ts";
import { isExplainedBy, type Sent } from "./own-write.ts";

const image = (value: string) => ({ containers: [{ name: "coder", image: value }] });

function deployment(pods: object, metadata: object = {}): Stored<Deployment> {
  return stored({ spec: { template: { spec: pods } } } as Deployment, metadata);
}

const before = deployment(image("coder:1"), { labels: { theirs: "a" }, resourceVersion: "1" });
const fields = (content: object): Sent => ({ by: "fields", fields: content });
const sentImage = fields({ spec: { template: { spec: image("coder:2") } } });

test.each<[string, Sent, Stored<Deployment> | undefined, Stored<Deployment>, boolean]>([
  ["a creation", { by: "create" }, undefined, deployment(image("coder:1")), true],
  [
    "a creation in place of an object that another client deleted",
    { by: "create" },
    before,
    deployment({}),
    false,
  ],
  [
    "what was sent, with a version and generation of its own",
    sentImage,
    before,
    deployment(image("coder:2"), { labels: { theirs: "a" }, resourceVersion: "2", generation: 2 }),
    true,
  ],
  [
    "a label that was not sent",
    sentImage,
    before,
    deployment(image("coder:2"), { labels: { theirs: "b" }, resourceVersion: "3" }),
    false,
  ],
  [
    "a container that was not sent",
    sentImage,
    before,
    deployment(
      { containers: [...image("coder:2").containers, { name: "sidecar" }] },
      { labels: { theirs: "a" } },
    ),
    false,
  ],
  [
    "a value other than the one that was sent",
    sentImage,
    before,
    deployment(image("coder:3"), { labels: { theirs: "a" } }),
    false,
  ],
  [
    "the removal of a field by a merge patch",
    fields({ metadata: { labels: null } }),
    before,
    deployment(image("coder:1"), { resourceVersion: "2" }),
    true,
  ],
  [
    "the removal of a field that was not sent",
    sentImage,
    before,
    deployment(image("coder:2"), { resourceVersion: "2" }),
    false,
  ],
  [
    "whatever the server made of a write on condition of the known version",
    fields({ metadata: { resourceVersion: "1" }, spec: {} }),
    before,
    deployment(image("coder:9"), { resourceVersion: "2" }),
    true,
  ],
  [
    "what a write on condition of a later version built on",
    fields({ metadata: { resourceVersion: "5" }, spec: {} }),
    before,
    deployment(image("coder:9"), { resourceVersion: "6" }),
    false,
  ],
  [
    "an object that was not known before and has no other manager",
    sentImage,
    undefined,
    deployment(image("coder:2"), { managedFields: [{ manager: "us" }] }),
    true,
  ],
  [
    "an object that was not known before and has other managers too",
    sentImage,
    undefined,
    deployment(image("coder:2"), { managedFields: [{ manager: "us" }, { manager: "them" }] }),
    false,
  ],
  [
    "another incarnation of the object",
    sentImage,
    before,
    deployment(image("coder:2"), { labels: { theirs: "a" }, uid: "other" }),
    false,
  ],
  ["the result of a JSON patch", { by: "other" }, before, deployment(image("coder:2")), false],
])("whether an own write explains %s", (_, sent, known, after, explained) => {
  const managers = after.metadata.managedFields?.length ?? 0;
  expect(isExplainedBy(sent, { before: known, after, managers })).toBe(explained);
});
