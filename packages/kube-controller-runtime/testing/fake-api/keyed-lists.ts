import { isJsonObject, type Json, type JsonObject } from "./patches.ts";

/** Lists that server-side apply merges item by item, with their key fields. */
const KEYS: readonly (readonly [path: RegExp, fields: readonly string[]])[] = [
  [/^metadata\.ownerReferences$/, ["uid"]],
  [/^status\.conditions$/, ["type"]],
  [/^spec\.ports$/, ["port", "protocol"]],
  [/^spec\.template\.spec\.(initContainers|containers|volumes|imagePullSecrets)$/, ["name"]],
  [/^spec\.template\.spec\.(initContainers|containers)\.env$/, ["name"]],
  [/^spec\.template\.spec\.(initContainers|containers)\.volumeMounts$/, ["mountPath"]],
  [/^spec\.template\.spec\.(initContainers|containers)\.ports$/, ["containerPort", "protocol"]],
];
const DEFAULTS: Readonly<Record<string, Json>> = { protocol: "TCP" };
/** The prefix of an item's name where its list is represented as an object, as in `managedFields`. */
export const ITEM = "k:";

/** The object with every such list converted to an object of items by name. */
export function keyed(object: JsonObject, prefix = ""): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, keyedValue(value, prefix + name)]),
  );
}

function keyedValue(value: Json, path: string): Json {
  if (isJsonObject(value)) return keyed(value, `${path}.`);
  const fields = Array.isArray(value) ? KEYS.find(([pattern]) => pattern.test(path))?.[1] : undefined;
  if (!fields) return value;
  const items = (value as JsonObject[]).map((item) => [nameOf(item, fields), keyed(item, `${path}.`)]);
  return Object.fromEntries(items);
}

function nameOf(item: JsonObject, fields: readonly string[]): string {
  const key = fields.map((field) => [field, item[field] ?? DEFAULTS[field]]);
  return ITEM + JSON.stringify(Object.fromEntries(key));
}

/** The reverse of `keyed`. */
export function unkeyed(value: Json): Json {
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, child]) => [name, unkeyed(child)] as const);
  const isList = entries.length > 0 && entries.every(([name]) => name.startsWith(ITEM));
  return isList ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}
