import { describe, expect, test } from "vitest";
import { stored } from "../../testing/stored.ts";
import {
  adoptFields,
  hasUpdatedFields,
  type ManagedFields,
  ownsAll,
  withOwnFields,
} from "./managed-fields.ts";

const us = { manager: "us" };

const entry = (
  manager: string,
  operation: string,
  fieldsV1: object,
  subresource?: string,
): ManagedFields => ({
  manager,
  operation,
  apiVersion: "apps/v1",
  fieldsType: "FieldsV1",
  fieldsV1,
  ...(subresource ? { subresource } : {}),
});

test("fields set by Update are owned by the Apply entry afterwards, and the Update entry is gone", () => {
  const entries = [
    entry("us", "Apply", { "f:spec": { "f:a": {} } }),
    entry("us", "Update", { "f:spec": { "f:b": {} }, "f:metadata": {} }),
  ];
  expect(adoptFields(entries, us)).toEqual([
    entry("us", "Apply", { "f:spec": { "f:a": {}, "f:b": {} }, "f:metadata": {} }),
  ]);
});

test("without an Apply entry the Update entry becomes one", () => {
  expect(adoptFields([entry("us", "Update", { "f:spec": {} })], us)).toEqual([
    entry("us", "Apply", { "f:spec": {} }),
  ]);
});

test("other managers and subresources keep their entries", () => {
  const others = [
    entry("kubectl", "Update", { "f:metadata": {} }),
    entry("us", "Update", { "f:status": {} }, "status"),
  ];
  expect(adoptFields([...others, entry("us", "Update", { "f:spec": {} })], us)).toEqual([
    ...others,
    entry("us", "Apply", { "f:spec": {} }),
  ]);
});

test.each([
  ["no entries", undefined],
  ["only an Apply entry", [entry("us", "Apply", {})]],
  ["only a status entry", [entry("us", "Update", {}, "status")]],
])("with %s there is nothing to hand over", (_, entries) => {
  expect(adoptFields(entries, us)).toBeUndefined();
});

describe("what was somebody else's until now", () => {
  const old = 'k:{"uid":"u-old"}';
  const entries = [
    entry("helm", "Update", {
      "f:metadata": { "f:labels": { "f:chart": {} }, "f:ownerReferences": { ".": {}, [old]: {} } },
      "f:spec": { "f:ports": {} },
    }),
    entry("kubectl", "Update", { "f:spec": { "f:replicas": {} } }, "scale"),
  ];

  test("gives its spec and the reference to its controller to our apply, and keeps labels and subresources", () => {
    const takesOver = { controllerUid: "u-old" };
    expect(adoptFields(entries, { ...us, takesOver })).toEqual([
      entry("helm", "Update", { "f:metadata": { "f:labels": { "f:chart": {} } } }),
      entry("kubectl", "Update", { "f:spec": { "f:replicas": {} } }, "scale"),
      entry("us", "Apply", {
        "f:spec": { "f:ports": {} },
        "f:metadata": { "f:ownerReferences": { [old]: {} } },
      }),
    ]);
  });

  test("keeps references to others", () => {
    const takesOver = { controllerUid: undefined };
    const [helm] = adoptFields(entries, { ...us, takesOver }) ?? [];
    expect(helm?.fieldsV1).toHaveProperty(["f:metadata", "f:ownerReferences", old]);
  });
});

describe("a cached object", () => {
  test("keeps the fields that we apply, and of those that we set by Update only that there are some", () => {
    const managedFields = [
      entry("us", "Apply", { "f:spec": {} }),
      entry("us", "Update", { "f:data": {} }),
      entry("us", "Update", { "f:status": {} }, "status"),
      entry("kubectl", "Update", { "f:metadata": {} }),
    ];
    const cached = withOwnFields(stored({}, { managedFields }), "us");
    expect(cached.metadata.managedFields).toEqual([
      { manager: "us", operation: "Apply", fieldsV1: { "f:spec": {} } },
      { manager: "us", operation: "Update" },
    ]);
    expect(hasUpdatedFields(cached, "us")).toBe(true);
  });

  test("without fields of ours keeps none", () => {
    const managedFields = [entry("kubectl", "Update", { "f:metadata": {} })];
    expect(withOwnFields(stored({}, { managedFields }), "us").metadata).not.toHaveProperty("managedFields");
  });
});

describe("whether all that is desired is still ours", () => {
  const port = 'k:{"containerPort":80,"protocol":"TCP"}';
  const fields = {
    "f:metadata": { "f:labels": { "f:app": {} } },
    "f:spec": {
      "f:selector": {},
      "f:ports": { [port]: { ".": {}, "f:containerPort": {}, "f:name": {} } },
      "f:finalizers": { 'v:"a"': {} },
    },
  };
  const spec = {
    selector: { any: "thing" },
    ports: [{ containerPort: 80, name: "http" }],
    finalizers: ["a"],
  };
  const labels = { app: "x" };

  test.each<[string, object, object, boolean]>([
    ["everything applied", { labels }, spec, true],
    ["a label that somebody took", { labels: { ...labels, more: "x" } }, spec, false],
    ["a field that somebody took", { labels }, { ...spec, replicas: 1 }, false],
    [
      "an item that somebody took",
      { labels },
      { ...spec, ports: [...spec.ports, { containerPort: 81 }] },
      false,
    ],
    ["a field of an item", { labels }, { ...spec, ports: [{ containerPort: 80, hostPort: 80 }] }, false],
    ["a value of a set", { labels }, { ...spec, finalizers: ["a", "b"] }, false],
    [
      "a key with another value than the default",
      { labels },
      { ports: [{ containerPort: 80, protocol: "UDP" }] },
      false,
    ],
    ["a list without items", { labels }, { ...spec, volumes: [] }, true],
    ["a struct without fields", { labels }, { ...spec, selector: {} }, true],
    ["a struct without fields that somebody took", { labels }, { ...spec, emptyDir: {} }, false],
  ])("%s", (_case, metadata, wanted, expected) => {
    const present = stored({}, { managedFields: [entry("us", "Apply", fields)] });
    expect(ownsAll(present, { metadata, spec: wanted } as object, "us")).toBe(expected);
  });

  test("nothing is, when we have applied nothing", () => {
    expect(
      ownsAll(stored({}, { managedFields: [entry("us", "Update", fields)] }), { spec } as object, "us"),
    ).toBe(false);
  });
});
