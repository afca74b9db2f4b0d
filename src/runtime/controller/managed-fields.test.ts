import { expect, test } from "vitest";
import { adoptUpdatedFields, type ManagedFields } from "./managed-fields.ts";

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
  expect(adoptUpdatedFields(entries, "us")).toEqual([
    entry("us", "Apply", { "f:spec": { "f:a": {}, "f:b": {} }, "f:metadata": {} }),
  ]);
});

test("without an Apply entry the Update entry becomes one", () => {
  expect(adoptUpdatedFields([entry("us", "Update", { "f:spec": {} })], "us")).toEqual([
    entry("us", "Apply", { "f:spec": {} }),
  ]);
});

test("other managers and subresources keep their entries", () => {
  const others = [
    entry("kubectl", "Update", { "f:metadata": {} }),
    entry("us", "Update", { "f:status": {} }, "status"),
  ];
  expect(adoptUpdatedFields([...others, entry("us", "Update", { "f:spec": {} })], "us")).toEqual([
    ...others,
    entry("us", "Apply", { "f:spec": {} }),
  ]);
});

test.each([
  ["no entries", undefined],
  ["only an Apply entry", [entry("us", "Apply", {})]],
  ["only a status entry", [entry("us", "Update", {}, "status")]],
])("with %s there is nothing to hand over", (_, entries) => {
  expect(adoptUpdatedFields(entries, "us")).toBeUndefined();
});
