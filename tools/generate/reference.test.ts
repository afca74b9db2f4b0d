import { describe, expect, it } from "vitest";
import { provisionerDefinition } from "../../src/api/v1alpha1/definitions.ts";
import { permissionsPage, referencePage, typeName } from "./reference.ts";

describe("typeName", () => {
  it.each([
    [{ $ref: "io.k8s.api.core.v1.Affinity" }, "core/v1 Affinity"],
    [
      { type: "array", items: { $ref: "io.k8s.apimachinery.pkg.apis.meta.v1.Condition" } },
      "meta/v1 Condition[]",
    ],
    [{ type: "object", additionalProperties: { type: "string" } }, "map of string"],
    [{ type: "string", format: "date-time" }, "time"],
    [{ type: "integer", format: "int32" }, "integer"],
  ])("says %j as %s", (schema, name) => {
    expect(typeName(schema)).toBe(name);
  });
});

describe("referencePage", () => {
  const page = referencePage(provisionerDefinition);
  const row = (field: string) => page.split("\n").find((line) => line.startsWith(`| \`${field}\``));

  it("marks required fields and shows defaults and constraints", () => {
    expect(row("spec.controlPlaneRef")).toContain("(required)");
    expect(row("spec.bootstrap.credentialsSecretRef.key")).toContain('`"token"`');
    expect(row("spec.organizationName")).toContain("At most 128 characters.");
    expect(row("spec.key.name")).toContain("Rule: must be at most 64 characters");
  });

  it("names Kubernetes types without repeating their fields", () => {
    expect(row("spec.volumes")).toContain("core/v1 Volume[]");
    expect(row("spec.volumes[].name")).toBeUndefined();
  });

  it("goes into lists of our own types", () => {
    expect(row("spec.certs.secrets[].name")).toContain("(required)");
  });
});

it("explains every permission", () => {
  const page = permissionsPage([
    { group: "", resource: "pods", verbs: ["get"], reasons: ["looks", "cares"] },
  ]);
  expect(page).toContain("| core | `pods` | get | looks; cares |");
});
