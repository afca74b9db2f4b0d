import { groupOf } from "kube-controller-runtime";
import type { TSchema } from "typebox";
import type { ResourceDefinition } from "../../src/api/v1alpha1/schema.ts";
import { limited } from "./limits.ts";
import { type Definitions, type Schema, structural } from "./structural.ts";

const typeMeta: Readonly<Record<string, Schema>> = {
  apiVersion: { type: "string", description: "Group and version of the API: coder.com/v1alpha1." },
  kind: { type: "string", description: "Kind of the object." },
  /** The API server handles metadata itself; the name is here for validation rules. */
  metadata: { type: "object", properties: { name: { type: "string" } } },
};

/** The paths of the scale subresource, for `kubectl scale` and autoscalers. */
const scale = {
  labelSelectorPath: ".status.selector",
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
};

/** TypeBox stores its own data in hidden properties, which JSON omits. */
export function plainSchema(schema: TSchema): Schema {
  return JSON.parse(JSON.stringify(schema));
}

/** The CustomResourceDefinition of a kind, with its keys in alphabetical order. */
export function customResourceDefinition(resource: ResourceDefinition, definitions: Definitions): object {
  const { kind, columns } = resource;
  const group = groupOf(kind);
  return sorted({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${group}` },
    spec: {
      group,
      names: {
        categories: ["coder"],
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        shortNames: [resource.shortName],
        singular: kind.kind.toLowerCase(),
      },
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      versions: [
        {
          additionalPrinterColumns: columns,
          name: kind.apiVersion.slice(group.length + 1),
          schema: { openAPIV3Schema: objectSchema(resource, definitions) },
          served: true,
          storage: true,
          subresources: { status: {}, ...(resource.scalable && { scale }) },
        },
      ],
    },
  });
}

function objectSchema(resource: ResourceDefinition, definitions: Definitions): Schema {
  return {
    type: "object",
    description: resource.description,
    properties: {
      ...typeMeta,
      spec: limited(structural(plainSchema(resource.spec), definitions), ".spec"),
      status: limited(structural(plainSchema(resource.status), definitions), ".status"),
    },
    ...(resource.rules.length > 0 && { "x-kubernetes-validations": resource.rules }),
  };
}

function sorted<T>(value: T): T {
  if (Array.isArray(value)) return value.map(sorted) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)])) as T;
}
