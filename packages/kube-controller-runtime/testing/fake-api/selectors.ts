import { labelSelector } from "../../src/cache/selector.ts";
import { messageOf } from "../../src/errors.ts";
import type { Kind } from "../../src/object.ts";
import { badRequest } from "./failure.ts";
import { isJsonObject } from "./patches.ts";
import type { FakeObject } from "./storage.ts";

export type Predicate = (object: FakeObject) => boolean;

/** Parses a label selector in all forms that the API server supports, including set-based ones. */
export function labelPredicate(selector: string): Predicate {
  const matches = readSelector(selector);
  return (object) => matches(object.metadata.labels ?? {});
}

function readSelector(text: string): ReturnType<typeof labelSelector> {
  try {
    return labelSelector(text);
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

/** Selectable fields besides name and namespace. */
const SELECTABLE: Readonly<Record<string, RegExp>> = {
  Event: /^(involvedObject\.\w+|reason|reportingComponent|source|type)$/,
  Secret: /^type$/,
};

/** Parses a field selector. Every kind supports name and namespace, and few support more. */
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
