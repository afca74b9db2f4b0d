/**
 * The schema vocabulary for the three kinds. A schema is the source of the TypeScript type (`Static`), the
 * OpenAPI schema of the CRD and the reference page. Every function takes the description first, so a field
 * without a description does not compile.
 */

import type { Kind } from "kube-controller-runtime";
import { type Static, type TProperties, type TSchema, type TSchemaOptions, Type } from "typebox";

/** A CEL rule with a message that says how to correct the value. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  /** Field that the error refers to, relative to the rule, such as `.spec.name`. */
  readonly fieldPath?: string;
  /** Reported to clients if the field is missing instead of invalid. */
  readonly reason?: "FieldValueRequired";
  /** Makes `oldSelf` optional, so that the rule can accept objects stored before the rule existed. */
  readonly optionalOldSelf?: true;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** Columns with a priority above 0 are shown only with `-o wide`. */
  readonly priority?: number;
}

/** A column with the string at `jsonPath`. */
export function column(name: string, jsonPath: string, description: string): PrinterColumn {
  return { name, type: "string", jsonPath, description };
}

/** A column that is shown only with `-o wide`. */
export function wideColumn(name: string, jsonPath: string, description: string): PrinterColumn {
  return { ...column(name, jsonPath, description), priority: 1 };
}

/** Description of a kind for the CRD and the reference page. */
export interface KindDescription {
  readonly shortName: string;
  readonly description: string;
  readonly spec: TSchema;
  readonly status: TSchema;
  /** Rules on the whole object, including `metadata.name`. */
  readonly rules: readonly Rule[];
  readonly columns: readonly PrinterColumn[];
  /** Enables the scale subresource for `spec.replicas`. */
  readonly scalable?: true;
}

/** Input of the generator for one kind. */
export type ResourceDefinition = KindDescription & { readonly kind: Kind };

export function rules(...list: readonly Rule[]) {
  return { "x-kubernetes-validations": list };
}

export const optional = Type.Optional;

export function object<Fields extends TProperties>(
  description: string,
  fields: Fields,
  options: TSchemaOptions = {},
) {
  return Type.Object(fields, { description, ...options });
}

export function text(description: string, options: TSchemaOptions = {}) {
  return Type.String({ description, ...options });
}

/** A string with known values. The CRD does not restrict them, so that later versions can add values. */
export function word<Word extends string>(description: string) {
  return Type.Unsafe<Word>({ type: "string", description });
}

export function choice<Word extends string>(
  description: string,
  words: readonly Word[],
  options: TSchemaOptions = {},
) {
  return Type.Unsafe<Word>({ type: "string", description, enum: words, ...options });
}

export function flag(description: string, options: TSchemaOptions = {}) {
  return Type.Boolean({ description, ...options });
}

export function int32(description: string, options: TSchemaOptions = {}) {
  return Type.Integer({ description, format: "int32", ...options });
}

export function int64(description: string, options: TSchemaOptions = {}) {
  return Type.Integer({ description, format: "int64", ...options });
}

export function time(description: string) {
  return text(description, { format: "date-time" });
}

export function list<Item extends TSchema>(description: string, item: Item, options: TSchemaOptions = {}) {
  return Type.Array(item, { description, ...options });
}

/** For a list that is always replaced as a whole. */
export const atomic = { "x-kubernetes-list-type": "atomic" };

export function stringMap(description: string, options: TSchemaOptions = {}) {
  return Type.Unsafe<Record<string, string>>({
    type: "object",
    description,
    additionalProperties: { type: "string" },
    ...options,
  });
}

/** For a list whose items differ in one field. */
export function listMap(key: string) {
  return { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] };
}

/** A map from a text to a list. */
export function listsByKey<Item extends TSchema>(description: string, item: Item, maxItems: number) {
  return Type.Unsafe<Record<string, Static<Item>[]>>({
    type: "object",
    description,
    additionalProperties: Type.Array(item, { maxItems, "x-kubernetes-list-type": "set" }),
  });
}

/** A number or percentage, such as `2` or `"25%"`. */
export function intOrPercent(description: string) {
  return Type.Unsafe<number | string>({
    description,
    anyOf: [{ type: "integer" }, { type: "string" }],
    pattern: "^[0-9]+%?$",
    "x-kubernetes-int-or-string": true,
  });
}

/** A Kubernetes type. The generator inserts its schema from the Kubernetes OpenAPI document. */
export function kube<T>(description: string, definition: string, options: TSchemaOptions = {}) {
  return Type.Unsafe<T>({ $ref: definition, description, ...options });
}

export function kubeList<T>(description: string, definition: string, options: TSchemaOptions = {}) {
  return Type.Unsafe<T[]>({ type: "array", description, items: { $ref: definition }, ...options });
}

export type { Static };
