/**
 * The vocabulary in which the three kinds are written down. A schema made of these words is at once the
 * TypeScript type (`Static`), the OpenAPI schema of the CRD and the text of the reference pages, so every
 * word takes the description first: a field without one does not compile.
 */

import type { Kind } from "kube-controller-runtime";
import { type Static, type TProperties, type TSchema, type TSchemaOptions, Type } from "typebox";

/** A CEL rule: what types alone cannot say, with a message that says what to write instead. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  /** Which field below the ruled one is to blame, as `.spec.name`. */
  readonly fieldPath?: string;
  /** Reported to clients: a field is missing rather than wrong. */
  readonly reason?: "FieldValueRequired";
  /** The rule reads `oldSelf` as an optional, and so can let pass what was stored before it existed. */
  readonly optionalOldSelf?: true;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** Above 0 the column shows only with `-o wide`. */
  readonly priority?: number;
}

/** A column with the text at `jsonPath`. */
export function column(name: string, jsonPath: string, description: string): PrinterColumn {
  return { name, type: "string", jsonPath, description };
}

/** One that shows only with `-o wide`. */
export function wideColumn(name: string, jsonPath: string, description: string): PrinterColumn {
  return { ...column(name, jsonPath, description), priority: 1 };
}

/** How a kind is described to its users. */
export interface KindDescription {
  readonly shortName: string;
  readonly description: string;
  readonly spec: TSchema;
  readonly status: TSchema;
  /** Rules over the whole object, `metadata.name` included. */
  readonly rules: readonly Rule[];
  readonly columns: readonly PrinterColumn[];
  /** Has a scale subresource: `kubectl scale` and autoscalers change `spec.replicas`. */
  readonly scalable?: true;
}

/** Everything the generator needs to know of one kind. */
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

/** A string whose values we write ourselves: the type is narrow, the CRD stays open for later values. */
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

/** For a list that is only ever replaced as a whole. */
export const atomic = { "x-kubernetes-list-type": "atomic" };

export function stringMap(description: string, options: TSchemaOptions = {}) {
  return Type.Unsafe<Record<string, string>>({
    type: "object",
    description,
    additionalProperties: { type: "string" },
    ...options,
  });
}

/** A number or a share, as `2` or `"25%"`. */
export function intOrPercent(description: string) {
  return Type.Unsafe<number | string>({
    description,
    anyOf: [{ type: "integer" }, { type: "string" }],
    pattern: "^[0-9]+%?$",
    "x-kubernetes-int-or-string": true,
  });
}

/** A type of Kubernetes itself; the generator puts its full schema from the Kubernetes OpenAPI here. */
export function kube<T>(description: string, definition: string, options: TSchemaOptions = {}) {
  return Type.Unsafe<T>({ $ref: definition, description, ...options });
}

export function kubeList<T>(description: string, definition: string, options: TSchemaOptions = {}) {
  return Type.Unsafe<T[]>({ type: "array", description, items: { $ref: definition }, ...options });
}

export type { Static };
