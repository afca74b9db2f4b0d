import { describe, expect, test } from "vitest";
import { stored } from "../../testing/stored.ts";
import {
  adoptFields,
  giveFields,
  hasUpdatedFields,
  type ManagedFields,
  ownsAll,
  takeExclusive,
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

describe("an object that another client managed until now", () => {
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

describe("what another tool manages from now on", () => {
  const given = { from: ["us", "person"], to: "helm" };

  test("is owned by the other's apply, together with what that had before", () => {
    const entries = [
      entry("helm", "Apply", { "f:metadata": { "f:labels": {} } }),
      entry("us", "Apply", { "f:metadata": { "f:annotations": {} }, "f:spec": {} }),
      entry("person", "Update", { "f:spec": { "f:selector": {} } }),
    ];
    const all = { "f:metadata": { "f:labels": {}, "f:annotations": {} }, "f:spec": { "f:selector": {} } };
    expect(giveFields(entries, given)).toEqual([entry("helm", "Apply", all)]);
  });

  test("leaves third parties and subresources their entries", () => {
    const others = [
      entry("hpa", "Update", { "f:spec": {} }),
      entry("us", "Update", { "f:status": {} }, "status"),
    ];
    expect(giveFields(others, given)).toEqual(others);
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

  test("without our fields keeps none", () => {
    const managedFields = [entry("kubectl", "Update", { "f:metadata": {} })];
    expect(withOwnFields(stored({}, { managedFields }), "us").metadata).not.toHaveProperty("managedFields");
  });
});

describe("whether we still manage all desired fields", () => {
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
    ["a label that another manager owns", { labels: { ...labels, more: "x" } }, spec, false],
    ["a field that another manager owns", { labels }, { ...spec, replicas: 1 }, false],
    [
      "an item that another manager owns",
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
    ["a struct without fields that another manager owns", { labels }, { ...spec, emptyDir: {} }, false],
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

describe("fields of others that exclude our fields", () => {
  const paths = ["spec.containers[0].env[1].valueFrom"];
  const container = (fields: object) => ({ "f:spec": { "f:containers": { 'k:{"name":"c"}': fields } } });
  const variable = (name: string, fields: object) => ({
    [`k:{"name":"${name}"}`]: { "f:name": {}, ...fields },
  });
  const ours = entry(
    "us",
    "Apply",
    container({ "f:env": { ...variable("A", { "f:value": {} }), ...variable("B", {}) } }),
  );

  test("are taken only from the struct with our fields", () => {
    const theirs = container({
      "f:env": {
        ...variable("B", { "f:valueFrom": { "f:key": {} } }),
        ...variable("C", { "f:valueFrom": {} }),
      },
      "f:resources": {},
    });
    const taken = takeExclusive([ours, entry("kubectl-edit", "Update", theirs)], { ...us, paths });
    expect(taken).toEqual([
      entry(
        "kubectl-edit",
        "Update",
        container({ "f:env": variable("C", { "f:valueFrom": {} }), "f:resources": {} }),
      ),
      entry(
        "us",
        "Apply",
        container({
          "f:env": {
            ...variable("A", { "f:value": {} }),
            ...variable("B", { "f:valueFrom": { "f:key": {} } }),
          },
        }),
      ),
    ]);
  });

  test("are none where all that others have is elsewhere, or of a subresource", () => {
    const elsewhere = entry("kubectl-edit", "Update", container({ "f:resources": {} }));
    const status = entry(
      "kubelet",
      "Update",
      container({ "f:env": variable("B", { "f:valueFrom": {} }) }),
      "status",
    );
    expect(takeExclusive([ours, elsewhere, status], { ...us, paths })).toBeUndefined();
    expect(takeExclusive(undefined, { ...us, paths })).toBeUndefined();
  });
});
