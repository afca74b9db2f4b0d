import { isDeepStrictEqual } from "node:util";
import type { JsonPatchOperation } from "../../src/client/client.ts";
import { Failure } from "./failure.ts";

export type Json = unknown;
export type JsonObject = { [name: string]: Json };

export function isJsonObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** RFC 7386. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

/** RFC 6902, the operations that the client supports. */
export function jsonPatch(target: Json, operations: readonly JsonPatchOperation[]): Json {
  return operations.reduce((document, operation) => operate(document, operation), target);
}

function operate(document: Json, operation: JsonPatchOperation): Json {
  const segments = operation.path
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
  const copy = structuredClone(document);
  const last = segments.pop() ?? "";
  const parent = segments.reduce<Json>((value, name) => childOf(value, name), copy);
  if (!isJsonObject(parent) && !Array.isArray(parent)) throw inapplicable(operation);
  if (operation.op === "test") {
    if (!isDeepStrictEqual(childOf(parent, last), operation.value)) throw inapplicable(operation);
  } else if (operation.op !== "add" && childOf(parent, last) === undefined) throw inapplicable(operation);
  else change(parent, last, operation);
  return copy;
}

function childOf(value: Json, name: string): Json {
  if (Array.isArray(value)) return value[Number(name)];
  return isJsonObject(value) ? value[name] : undefined;
}

function change(parent: JsonObject | Json[], name: string, { op, value }: JsonPatchOperation): void {
  if (!Array.isArray(parent)) {
    if (op === "remove") delete parent[name];
    else parent[name] = value;
    return;
  }
  const index = name === "-" ? parent.length : Number(name);
  parent.splice(index, op === "add" ? 0 : 1, ...(op === "remove" ? [] : [value]));
}

function inapplicable({ op, path }: JsonPatchOperation): Failure {
  return new Failure(
    422,
    "Invalid",
    `the server rejected our request due to an error in our request: ${op} ${path}`,
  );
}
