import type { Kind } from "../../src/object.ts";
import { badRequest } from "./failure.ts";
import { isJsonObject } from "./patches.ts";
import type { FakeObject } from "./storage.ts";

export type Predicate = (object: FakeObject) => boolean;

const REQUIREMENTS: readonly [RegExp, (match: readonly string[], labels: Labels) => boolean][] = [
  [/^(\S+)\s+notin\s+\((.*)\)$/, ([, key = "", values = ""], labels) => !isOneOf(labels[key], values)],
  [/^(\S+)\s+in\s+\((.*)\)$/, ([, key = "", values = ""], labels) => isOneOf(labels[key], values)],
  [/^([^!=\s]+)\s*!=\s*(\S*)$/, ([, key = "", value], labels) => labels[key] !== value],
  [/^([^!=\s]+)\s*==?\s*(\S*)$/, ([, key = "", value], labels) => labels[key] === value],
  [/^!(\S+)$/, ([, key = ""], labels) => labels[key] === undefined],
  [/^(\S+)$/, ([, key = ""], labels) => labels[key] !== undefined],
];

type Labels = Readonly<Record<string, string | undefined>>;

/** Reads a label selector in all forms that the API server knows, sets included. */
export function labelPredicate(selector: string): Predicate {
  // A comma inside parentheses separates values, not requirements.
  const requirements = selector.split(/,(?![^(]*\))/).map((text) => requirement(text.trim()));
  return (object) => requirements.every((holds) => holds(object.metadata.labels ?? {}));
}

function requirement(text: string): (labels: Labels) => boolean {
  for (const [pattern, holds] of REQUIREMENTS) {
    const match = pattern.exec(text);
    if (match) return (labels) => holds(match, labels);
  }
  throw badRequest(`unable to parse requirement: ${text}`);
}

function isOneOf(value: string | undefined, values: string): boolean {
  return values
    .split(",")
    .map((each) => each.trim())
    .includes(value ?? "");
}

/** What may be selected by, besides name and namespace. */
const SELECTABLE: Readonly<Record<string, RegExp>> = {
  Event: /^(involvedObject\.\w+|reason|reportingComponent|source|type)$/,
  Secret: /^type$/,
};

/** Reads a field selector. Every kind knows name and namespace, and few know more. */
export function fieldPredicate(kind: Kind, selector: string): Predicate {
  const requirements = selector.split(",").map((text) => fieldRequirement(kind, text));
  return (object) => requirements.every((holds) => holds(object));
}

function fieldRequirement({ kind }: Kind, text: string): Predicate {
  const [, field = "", operator, value] = /^([\w.]+)(!=|==?)(.*)$/.exec(text) ?? [];
  if (!/^metadata\.(name|namespace)$/.test(field) && !SELECTABLE[kind]?.test(field)) {
    throw badRequest(`field label not supported: ${field || text}`);
  }
  const read: Predicate = (object) => (readPath(object, field) ?? "") === value;
  return operator === "!=" ? (object) => !read(object) : read;
}

function readPath(object: FakeObject, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, name) => (isJsonObject(value) ? value[name] : undefined), object);
}
