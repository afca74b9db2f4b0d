import type { TransportRequest, TransportResponse } from "../../src/client/transport.ts";
import { pageNotFound } from "./address.ts";
import { badRequest } from "./failure.ts";
import { type JsonObject, mergePatch } from "./patches.ts";
import type { Registry, Write } from "./registry.ts";
import { json } from "./responses.ts";
import type { FakeObject } from "./storage.ts";

/** Whether a subresource is more than a part of its object. */
export function isOther(subresource: string | undefined): boolean {
  return subresource !== undefined && subresource !== "status";
}

/** Scales of objects with replicas, and evictions of pods, which no budget prevents. */
export function answerSubresource(
  registry: Registry,
  { subresource, ...write }: Write,
  request: TransportRequest,
): TransportResponse {
  const { kind, ref } = write;
  if (subresource === "eviction" && kind.kind === "Pod" && request.method === "POST") {
    registry.delete(kind, ref, {});
    return json(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
  }
  if (subresource !== "scale") throw pageNotFound();
  const present = registry.get(kind, ref);
  if (request.method === "GET") return json(200, scaleOf(present));
  if (request.method !== "PATCH") throw badRequest("a scale is read and patched");
  const wanted = mergePatch(scaleOf(present), JSON.parse(request.body ?? "{}")) as JsonObject;
  const { replicas } = wanted.spec as { replicas?: number };
  const { resourceVersion } = wanted.metadata as { resourceVersion?: string };
  const body = { metadata: { resourceVersion }, spec: { replicas } } as unknown as JsonObject;
  return json(200, scaleOf(registry.patch(write, { type: "merge", body }).object));
}

function scaleOf({ metadata, spec, status }: FakeObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { replicas = 0 } = (spec ?? {}) as { replicas?: number };
  const counted = ((status ?? {}) as { replicas?: number }).replicas ?? 0;
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas },
    status: { replicas: counted },
  } as unknown as JsonObject;
}
