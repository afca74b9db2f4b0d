import { readFileSync } from "node:fs";
import { definitionsOf, localName, type Snapshot } from "./kubernetes.ts";
import { referencesIn, type Schema } from "./structural.ts";

export const chartSchemaPath = "charts/coder-k8s/values.schema.json";

const opening = '  "definitions": {\n';
const intOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/** The manually written part, up to the definitions, which are the Kubernetes types that it refers to. */
function written(): string {
  const text = readFileSync(new URL(`../../${chartSchemaPath}`, import.meta.url), "utf8");
  return text.split(`,\n${opening}`)[0]?.replace(/\n\}\n$/, "") ?? "";
}

/** The names of the Kubernetes types in the chart's values. */
export function chartTypes(): string[] {
  const { properties }: Schema = JSON.parse(`${written()}\n}`);
  return Object.values(properties ?? {})
    .flatMap(referencesIn)
    .map(localName)
    .filter((name) => name.startsWith("io.k8s."));
}

/**
 * The schema of the chart's values, with the referenced Kubernetes types. These are closed: helm rejects a
 * field that Kubernetes would drop.
 */
export function chartSchema(snapshot: Snapshot): string {
  const definitions = definitionsOf(snapshot);
  const closed = new Map<string, object>();
  const open = chartTypes();
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (closed.has(name)) continue;
    const definition = definitions(name);
    closed.set(name, numberOrText[name] ?? closedSchema(definition));
    open.push(...referencesIn(definition).map(localName));
  }
  const lines = [...closed]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `    ${JSON.stringify(name)}: ${JSON.stringify(schema)}`);
  return `${written()},\n${opening}${lines.join(",\n")}\n  }\n}\n`;
}

/** Types that are a number or a string in values, and a string in the OpenAPI. */
const numberOrText: Readonly<Record<string, object>> = {
  [intOrString]: { type: ["integer", "string"] },
  [quantity]: { type: ["number", "string"] },
};

/** Without keywords that only documentation and the API server use, and without additional properties. */
function closedSchema(schema: Schema): object {
  const { $ref, type, required, properties, items, additionalProperties } = schema;
  if ($ref !== undefined) return { $ref };
  return {
    type,
    ...(required && { required }),
    ...(properties && { properties: mapped(properties), additionalProperties: false }),
    ...(items && { items: closedSchema(items) }),
    ...(additionalProperties && { additionalProperties: closedSchema(additionalProperties) }),
  };
}

/** In values, null removes a default, and helm keeps it if there is none. */
function mapped(properties: Readonly<Record<string, Schema>>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const { type } = property;
      return [name, { ...closedSchema(property), ...(type !== undefined && { type: [type, "null"] }) }];
    }),
  );
}
