import { describe, expect, it } from "vitest";
import { definitionsOf, type Snapshot } from "./kubernetes.ts";
import { referencesIn, type Schema, structural } from "./structural.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const snapshot: Snapshot = {
  kubernetesVersion: "v0",
  definitions: {
    Port: {
      type: "object",
      description: "A port.",
      required: ["number"],
      properties: { number: { type: "integer", format: "int32" } },
    },
    Pod: {
      type: "object",
      description: "A pod.",
      properties: {
        cpu: { $ref: "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity" },
        metadata: { $ref: `#/definitions/${meta}.ObjectMeta` },
        ports: {
          type: "array",
          items: { $ref: "#/definitions/Port" },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["number"],
          "x-kubernetes-patch-merge-key": "number",
          "x-kubernetes-patch-strategy": "merge",
        },
      },
    },
    [`${meta}.Condition`]: {
      type: "object",
      properties: { status: { type: "string", description: "One of three." } },
    },
  },
};
const definitions = definitionsOf(snapshot);
const expand = (schema: Schema) => structural(schema, definitions);

describe("structural", () => {
  it("puts the full schema in the place of a reference, keeping our own description", () => {
    const pod = expand({ $ref: "Pod", description: "Ours." });
    expect(pod.description).toBe("Ours.");
    expect(pod.properties?.ports?.items).toEqual(snapshot.definitions.Port);
    expect(JSON.stringify(pod)).not.toContain("$ref");
  });

  it("keeps list semantics and drops what only strategic merge patches know", () => {
    const ports = expand({ $ref: "Pod" }).properties?.ports ?? {};
    expect(ports["x-kubernetes-list-type"]).toBe("map");
    expect(Object.keys(ports).filter((keyword) => keyword.includes("patch"))).toEqual([]);
  });

  it("keeps of Kubernetes' descriptions the first sentences, and at least one", () => {
    const long = `Many ${"words ".repeat(60)}follow.`;
    const described = (description: string) => {
      const definitions = { Text: { type: "string", description } };
      return structural({ $ref: "Text" }, definitionsOf({ ...snapshot, definitions })).description;
    };
    expect(described("One. Two.")).toBe("One. Two.");
    expect(described(`One. ${long} Three.`)).toBe("One.");
    expect(described(`${long} Two.`)).toBe(long);
  });

  it("takes quantities as integers and as strings", () => {
    expect(expand({ $ref: "Pod" }).properties?.cpu?.["x-kubernetes-int-or-string"]).toBe(true);
  });

  it("gives embedded metadata only labels and annotations", () => {
    const { metadata } = expand({ $ref: "Pod" }).properties ?? {};
    expect(Object.keys(metadata?.properties ?? {})).toEqual(["annotations", "labels"]);
  });

  it("adds to conditions what the Go type demands", () => {
    expect(expand({ $ref: `${meta}.Condition` }).properties?.status).toEqual({
      type: "string",
      description: "One of three.",
      enum: ["True", "False", "Unknown"],
    });
  });

  it("refuses a keyword that the API server would drop", () => {
    expect(() => expand({ type: "string", contentEncoding: "base64" })).toThrow("contentEncoding");
  });

  it("says how to get a type that the snapshot lacks", () => {
    expect(() => expand({ $ref: "Node" })).toThrow("refresh-kubernetes.ts");
  });
});

it("finds references at any depth", () => {
  const schema = {
    properties: { a: { items: { additionalProperties: { $ref: "Deep" } } }, b: { $ref: "Flat" } },
  };
  expect(referencesIn(schema)).toEqual(["Deep", "Flat"]);
});
