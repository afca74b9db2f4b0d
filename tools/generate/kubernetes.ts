import { readFileSync } from "node:fs";
import type { Definitions, Schema } from "./structural.ts";

/** The Kubernetes types that the kinds use, from the OpenAPI of one Kubernetes version. */
export interface Snapshot {
  readonly kubernetesVersion: string;
  readonly definitions: Readonly<Record<string, Schema>>;
}

export const snapshotFile = new URL("kubernetes-openapi.json", import.meta.url);

export function readSnapshot(): Snapshot {
  return JSON.parse(readFileSync(snapshotFile, "utf8"));
}

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** Quantities are strings in the OpenAPI, but users write `cpu: 1`. */
const quantity: Schema = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  pattern:
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
  "x-kubernetes-int-or-string": true,
};

/** A string in the OpenAPI, too. */
const intOrString: Schema = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
};

/** The only metadata that the API server accepts in a volume claim template, where this type is used. */
const objectMeta: Schema = {
  type: "object",
  description: "Labels and annotations to copy.",
  properties: {
    annotations: {
      type: "object",
      description: "Annotations to copy.",
      additionalProperties: { type: "string" },
    },
    labels: { type: "object", description: "Labels to copy.", additionalProperties: { type: "string" } },
  },
};

/** Validation of conditions from comments of the Go type, which the OpenAPI lacks. */
const conditionDemands: Readonly<Record<string, Schema>> = {
  message: { maxLength: 32768 },
  observedGeneration: { minimum: 0 },
  reason: { minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" },
  status: { enum: ["True", "False", "Unknown"] },
  type: {
    maxLength: 316,
    pattern:
      "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
  },
};

/**
 * Required fields and defaults from Go code, which the OpenAPI lacks: a CRD must define them for list keys.
 */
const demands: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
  [`${meta}.Condition`]: conditionDemands,
  "io.k8s.api.core.v1.ContainerPort": { protocol: { default: "TCP" } },
};

/** The definitions of a snapshot, adapted for a CRD. */
export function definitionsOf(snapshot: Snapshot): Definitions {
  return (reference) => {
    const name = localName(reference);
    if (name === "io.k8s.apimachinery.pkg.api.resource.Quantity") return quantity;
    if (name === "io.k8s.apimachinery.pkg.util.intstr.IntOrString") return intOrString;
    if (name === `${meta}.ObjectMeta`) return objectMeta;
    const definition = snapshot.definitions[name];
    if (!definition) {
      throw new Error(`${name} is not in the snapshot: run node tools/generate/refresh-kubernetes.ts`);
    }
    return briefly(withDemands(definition, demands[name] ?? {}));
  };
}

/** `#/definitions/x` and `x` name the same type. */
export function localName(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

function withDemands(definition: Schema, demands: Readonly<Record<string, Schema>>): Schema {
  const properties = { ...definition.properties };
  for (const [name, demand] of Object.entries(demands)) properties[name] = { ...properties[name], ...demand };
  return definition.properties ? { ...definition, properties } : definition;
}

/** Some descriptions of Kubernetes are very long, and a CRD is stored, listed and sent as a whole. */
const MAX_LENGTH = 240;

/** The schema of a Kubernetes type with only the first sentences of each description, at least one. */
function briefly(schema: Schema): Schema {
  const { description, properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(description && { description: firstSentences(description) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, briefly(field)]),
      ),
    }),
    ...(items && { items: briefly(items) }),
    ...(additionalProperties && { additionalProperties: briefly(additionalProperties) }),
  };
}

function firstSentences(text: string): string {
  const [first = "", ...more] = text.split(/(?<=[.:])\s+(?=[A-Z`])|\n+/);
  let kept = first;
  for (const sentence of more) {
    if (kept.length + sentence.length > MAX_LENGTH) break;
    kept += ` ${sentence}`;
  }
  return kept;
}
