import type { Schema } from "./structural.ts";

/** Kubernetes explains some fields by the page; a CRD is stored, listed and sent as a whole. */
const LONGEST = 240;

/** The schema of a Kubernetes type with only the first sentences of each description, at least one. */
export function briefly(schema: Schema): Schema {
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
    if (kept.length + sentence.length > LONGEST) break;
    kept += ` ${sentence}`;
  }
  return kept;
}
