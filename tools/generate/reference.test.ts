import { describe, expect, it } from "vitest";
import {
  controlPlaneDefinition,
  provisionerDefinition,
  workspaceProxyDefinition,
} from "../../src/api/v1alpha1/definitions.ts";
import { commonFields, commonFieldsPage, permissionsPage, referencePage, typeName } from "./reference.ts";

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
    expect(row("spec.bootstrap.credentialsSecretRef.key")).toContain("Defaults to `token`.");
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

describe("commonFields", () => {
  const definitions = [controlPlaneDefinition, provisionerDefinition, workspaceProxyDefinition];
  const common = commonFields(definitions);
  const pages = [commonFieldsPage(common), ...definitions.map((each) => referencePage(each, common))];
  const rowsOf = (page: string) => page.match(/^\| `(?:spec|status)\..*$/gm) ?? [];

  it("leaves every field of every kind on a page, with the same row", () => {
    const before = new Set(definitions.flatMap((each) => rowsOf(referencePage(each))));
    expect(new Set(pages.flatMap(rowsOf))).toEqual(before);
  });

  it("are on no page of a kind that has them", () => {
    for (const definition of definitions) {
      const own = new Set(rowsOf(referencePage(definition, common)).map((row) => row.split("`")[1]));
      const named = common
        .filter(({ kinds }) => kinds.includes(definition.kind.kind))
        .map(({ path }) => path);
      expect(named.filter((path) => own.has(path))).toEqual([]);
    }
  });

  it("are named on the page of each kind that has them", () => {
    for (const definition of definitions) {
      const page = referencePage(definition, common);
      const named = common
        .filter(({ kinds }) => kinds.includes(definition.kind.kind))
        .map(({ path }) => path);
      expect(named.length).toBeGreaterThan(20);
      for (const path of named) expect(page).toContain(`\`${path.replace(/^\w+\./, "")}\``);
    }
  });
});

it("explains every permission", () => {
  const page = permissionsPage([
    { group: "", resource: "pods", verbs: ["get"], reasons: ["looks", "cares"] },
  ]);
  expect(page).toContain("| core | `pods` | get | looks; cares |");
});
