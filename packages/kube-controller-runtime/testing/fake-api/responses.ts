import type { TransportResponse } from "../../src/client/transport.ts";
import type { Kind } from "../../src/object.ts";
import type { FakeObject } from "./storage.ts";

export function metadataOf({ metadata }: FakeObject): object {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}

/** Lists of built-in kinds specify the kind once, not in every item. */
export function untyped({ apiVersion: _, kind: __, ...object }: FakeObject): object {
  return object;
}

export function bookmark(kind: Kind, version: number, annotations?: Record<string, string>): object {
  const metadata = {
    resourceVersion: String(version),
    creationTimestamp: null,
    ...(annotations ? { annotations } : {}),
  };
  return { kind: kind.kind, apiVersion: kind.apiVersion, metadata };
}

export function json(status: number, body: object): TransportResponse {
  return respond(status, "application/json", JSON.stringify(body));
}

export function text(status: number, body: string): TransportResponse {
  return respond(status, "text/plain; charset=utf-8", body);
}

function respond(status: number, contentType: string, body: string): TransportResponse {
  const chunks = (async function* () {
    yield Buffer.from(body, "utf8");
  })();
  return { status, headers: { "content-type": contentType }, body: chunks };
}
