/** The part of JSON Schema that CRDs and the Kubernetes OpenAPI use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** Looks up a Kubernetes type by its OpenAPI name; the result may contain further references. */
export type Definitions = (name: string) => Schema;

/** Keywords of a structural schema that contain no schemas. */
const plainKeywords = new Set([
  "anyOf",
  "default",
  "description",
  "enum",
  "format",
  "maxItems",
  "maxLength",
  "maximum",
  "minItems",
  "minLength",
  "minimum",
  "pattern",
  "required",
  "type",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
  "x-kubernetes-validations",
]);

/** Keywords of the Kubernetes OpenAPI without a meaning in a CRD. */
const droppedKeywords = new Set([
  "$ref",
  "x-kubernetes-group-version-kind",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-unions",
]);

/**
 * A structural schema equal to `schema`: with all references resolved, and only keywords that the API server
 * keeps. Throws on an unknown keyword, because silently dropping a constraint would leave it unenforced.
 */
export function structural(schema: Schema, definitions: Definitions): Schema {
  const { properties, items, additionalProperties } = schema;
  const inside = (child: Schema) => structural(child, definitions);
  return {
    ...(schema.$ref === undefined ? {} : inside(definitions(schema.$ref))),
    ...plain(schema),
    ...(properties && { properties: mapValues(properties, inside) }),
    ...(items && { items: inside(items) }),
    ...(additionalProperties && { additionalProperties: inside(additionalProperties) }),
  };
}

function plain(schema: Schema): Schema {
  const kept: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (plainKeywords.has(keyword)) kept[keyword] = value;
    else if (!droppedKeywords.has(keyword) && !hasSchemas(keyword)) {
      throw new Error(`keyword ${keyword} is not supported in a CRD`);
    }
  }
  return kept;
}

function hasSchemas(keyword: string): boolean {
  return keyword === "properties" || keyword === "items" || keyword === "additionalProperties";
}

function mapValues<Value, Result>(
  record: Readonly<Record<string, Value>>,
  change: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

/** Every reference in `schema`, at any depth. */
export function referencesIn(schema: Schema): string[] {
  const children = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
    ...(schema.additionalProperties ? [schema.additionalProperties] : []),
  ];
  return [...(schema.$ref === undefined ? [] : [schema.$ref]), ...children.flatMap(referencesIn)];
}
