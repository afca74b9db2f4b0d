import { defined } from "../../../operator/normalize.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import type { ValuesReader } from "./values.ts";

const ROUTE = "coder.httproute";
const SET = "coder.listenerset";

/** The chart's HTTPRoutes and its ListenerSet, which the operator creates together with a route. */
export function gatewayOf(reader: ValuesReader): JsonObject | undefined {
  const listenerSet = listenerSetOf(reader);
  const fields = defined({
    host: reader.text(`${ROUTE}.host`),
    wildcardHost: legalWildcard(reader.text(`${ROUTE}.wildcardHost`)),
    annotations: reader.map(`${ROUTE}.annotations`),
    parentRefs: parentsOf(reader, `${ROUTE}.parentRefs`),
    httpsRedirect: redirectOf(reader),
    listenerSet,
  });
  const isEnabled = reader.flag(`${ROUTE}.enable`) === true;
  if (isEnabled && fields.host !== undefined && fields.parentRefs !== undefined) return fields;
  if (isEnabled) reader.remark(ROUTE, "The HTTPRoute is omitted: it needs a host and parentRefs.");
  if (listenerSet)
    reader.remark(SET, "Omitted: a ListenerSet requires expose.gateway. Apply it like any other manifest.");
  return undefined;
}

/** A route and an Ingress do not support a suffix after the wildcard label. */
export function legalWildcard(host: string | undefined): string | undefined {
  return host?.replace(/^\*[^.]*\./, "*.");
}

function redirectOf(reader: ValuesReader): JsonObject | undefined {
  const path = `${ROUTE}.httpsRedirect`;
  const redirect = defined({
    annotations: reader.map(`${path}.annotations`),
    parentRefs: parentsOf(reader, `${path}.parentRefs`),
  });
  return reader.flag(`${path}.enable`) === true ? redirect : undefined;
}

function listenerSetOf(reader: ValuesReader): JsonObject | undefined {
  const set = defined({
    annotations: reader.map(`${SET}.annotations`),
    parentRef: only(reader, `${SET}.parentRef`, reader.map(`${SET}.parentRef`), ["name", "namespace"]),
    listeners: reader
      .list(`${SET}.listeners`)
      ?.map((listener) => listenerOf(reader, isObject(listener) ? listener : {})),
  });
  return reader.flag(`${SET}.enable`) === true ? set : undefined;
}

function listenerOf(reader: ValuesReader, { tls, ...listener }: JsonObject): JsonObject {
  const path = `${SET}.listeners`;
  const own = isObject(tls) && tls.mode === "Terminate" ? { ...tls, mode: undefined } : tls;
  return defined({
    ...only(reader, path, listener, ["name", "hostname", "port", "protocol"]),
    tls: only(reader, path, isObject(own) ? defined(own) : undefined, ["certificateRefs"]),
  });
}

function parentsOf(reader: ValuesReader, path: string): Json[] | undefined {
  const known = ["kind", "name", "namespace", "port", "sectionName"];
  return reader.list(path)?.map((parent) => only(reader, path, isObject(parent) ? parent : {}, known));
}

/** Keeps the supported fields and adds a remark for each other one. */
function only(
  reader: ValuesReader,
  path: string,
  value: JsonObject | undefined,
  known: readonly string[],
): JsonObject | undefined {
  if (value === undefined) return undefined;
  const [kept, others] = [true, false].map((wanted) =>
    Object.entries(value).filter(([name]) => known.includes(name) === wanted),
  );
  for (const [name] of others ?? []) reader.remark(`${path}.${name}`, "Omitted: no field corresponds to it.");
  return Object.fromEntries(kept ?? []);
}
