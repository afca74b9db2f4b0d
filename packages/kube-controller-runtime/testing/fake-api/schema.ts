import { isJsonObject, type Json, type JsonObject } from "./patches.ts";

/** The part of an OpenAPI schema that affects how objects of a CustomResourceDefinition are stored. */
export interface Schema {
  readonly type?: string;
  readonly default?: Json;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** A copy with the schema's defaults, applied from the outside in, and without unknown fields. */
export function structural(value: Json, schema: Schema): Json {
  if (Array.isArray(value)) return value.map((item) => structural(item, schema.items ?? {}));
  if (!isJsonObject(value)) return value;
  const { properties } = schema;
  if (!properties) return mapped(value, schema);
  const result: JsonObject = {};
  for (const [name, child] of Object.entries(value)) {
    const known = properties[name];
    if (known) result[name] = structural(child, known);
    else if (schema["x-kubernetes-preserve-unknown-fields"]) result[name] = child;
  }
  for (const [name, property] of Object.entries(properties)) {
    if (property.default !== undefined && (result[name] ?? null) === null)
      result[name] = structural(structuredClone(property.default), property);
  }
  return result;
}

function mapped(value: JsonObject, { additionalProperties }: Schema): JsonObject {
  if (!isJsonObject(additionalProperties)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, structural(child, additionalProperties as Schema)]),
  );
}
