import type { Kind, ObjectMeta } from "../../src/object.ts";
import { invalid } from "./failure.ts";
import type { JsonObject } from "./patches.ts";
import { type Schema, structural } from "./schema.ts";

/** Maps that the API server omits while they are empty. */
const OMITTED_EMPTY: Readonly<Record<string, readonly string[]>> = {
  Secret: ["data"],
  ConfigMap: ["data", "binaryData"],
};

/** The stored form of an object: with defaults, and without unknown fields. */
export function normalized(kind: Kind & { readonly schema?: Schema }, object: JsonObject): JsonObject {
  const omitted = (OMITTED_EMPTY[kind.kind] ?? []).filter((field) => isEmpty(object[field]));
  const kept = Object.fromEntries(Object.entries(object).filter(([name]) => !omitted.includes(name)));
  if (!kind.schema) return kept;
  const { apiVersion, kind: type, metadata, ...content } = kept;
  return { apiVersion, kind: type, metadata, ...(structural(content, kind.schema) as JsonObject) };
}

/** Rejects invalid objects. */
export function validate({ kind }: Kind, object: JsonObject): void {
  const { name, ownerReferences = [] } = object.metadata as ObjectMeta;
  const controllers = ownerReferences.filter(({ controller }) => controller);
  if (controllers.length > 1)
    throw invalid(
      `${kind} "${name}"`,
      "metadata.ownerReferences: Invalid value: Only one reference can have Controller set to true.",
    );
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
