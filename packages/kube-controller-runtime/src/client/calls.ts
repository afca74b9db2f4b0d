import { type Kind, type KubeObject, keyOf, type ObjectRef, refOf, resourceName } from "../object.ts";
import type { DeleteOptions, JsonPatchOperation, ListOptions, WatchOptions } from "./client.ts";
import { collectionPath, objectPath, queryString } from "./paths.ts";
import type { TransportRequest } from "./transport.ts";

/** One request as data: what to send, and how to name it in errors and metrics. */
export interface Call {
  readonly verb: string;
  /** As returned by `resourceName`, for metrics. */
  readonly resource: string;
  /** Verb and object, for error messages. */
  readonly what: string;
  readonly method: TransportRequest["method"];
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  /** Whether it is safe to send the request twice. */
  readonly repeatable: boolean;
  /**
   * A 429 response refuses only this call, such as an eviction that violates a disruption budget, and does
   * not ask the client to pause.
   */
  readonly ownRefusal?: boolean;
}

const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const METADATA_ITEM = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
// JSON is valid YAML, which the apply content type requires.
const PATCH_TYPES = {
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
};

export function getCall(kind: Kind, ref: ObjectRef): Call {
  return {
    ...named("get", kind, ref),
    method: "GET",
    path: objectPath(kind, ref),
    repeatable: true,
  };
}

export function listCall(kind: Kind, options: ListOptions): Call {
  const { labelSelector, fieldSelector, limit } = options;
  const query = queryString({ labelSelector, fieldSelector, limit, continue: options.continueToken });
  return {
    ...named("list", kind),
    method: "GET",
    path: collectionPath(kind, options.namespace) + query,
    signal: options.signal,
    repeatable: true,
    ...(options.metadataOnly ? { accept: METADATA_LIST } : {}),
  };
}

export function watchCall(kind: Kind, options: WatchOptions): Call {
  const { labelSelector, fieldSelector, timeoutSeconds, resourceVersion, sendInitialEvents } = options;
  const query = queryString({
    labelSelector,
    fieldSelector,
    watch: true,
    allowWatchBookmarks: true,
    timeoutSeconds,
    resourceVersion,
    sendInitialEvents,
    resourceVersionMatch: sendInitialEvents ? "NotOlderThan" : undefined,
  });
  return {
    ...named("watch", kind),
    repeatable: false,
    method: "GET",
    path: collectionPath(kind, options.namespace) + query,
    ...(options.metadataOnly ? { accept: METADATA_ITEM } : {}),
  };
}

/** Options for all writes of a client. */
export interface WriteMode {
  readonly fieldManager: string;
  /** The server validates the write and responds as usual, but does not persist it. */
  readonly dryRun?: boolean | undefined;
}

export function createCall(kind: Kind, object: KubeObject, mode: WriteMode): Call {
  const { metadata } = object;
  const path = kind.of ? objectPath(kind, refOf(object)) : collectionPath(kind, metadata?.namespace);
  return {
    // A review has no name.
    ...named("create", kind, metadata?.name ? refOf(object) : undefined),
    repeatable: false,
    method: "POST",
    path: path + writeQuery(mode),
    body: withType(kind, object),
    ownRefusal: kind.kind === "Eviction",
  };
}

export interface Patch {
  readonly type: keyof typeof PATCH_TYPES;
  readonly body: unknown;
  readonly mode: WriteMode;
  readonly subresource?: string;
}

export function patchCall(kind: Kind, ref: ObjectRef, patch: Patch): Call {
  const isApply = patch.type === "apply";
  return {
    ...named(isApply ? "apply" : "patch", kind, ref),
    method: "PATCH",
    path: objectPath(kind, ref, patch.subresource) + writeQuery(patch.mode, isApply),
    repeatable: isApply || isGuarded(patch.body),
    body: isApply ? withType(kind, patch.body as KubeObject) : patch.body,
    contentType: PATCH_TYPES[patch.type],
  };
}

export function deleteCall(
  kind: Kind,
  ref: ObjectRef,
  options: DeleteOptions & Pick<WriteMode, "dryRun">,
): Call {
  const { uid, resourceVersion, propagation = "Background", gracePeriodSeconds } = options;
  return {
    ...named("delete", kind, ref),
    repeatable: uid !== undefined || resourceVersion !== undefined,
    method: "DELETE",
    path: objectPath(kind, ref),
    body: {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: propagation,
      gracePeriodSeconds,
      preconditions: { uid, resourceVersion },
      // The server ignores options in the query of a request with a body.
      ...(options.dryRun ? { dryRun: ["All"] } : {}),
    },
  };
}

function writeQuery({ fieldManager, dryRun }: WriteMode, force = false): string {
  return queryString({ fieldManager, force: force || undefined, dryRun: dryRun ? "All" : undefined });
}

/** Whether a patch fails if the object was changed in the meantime, even by the patch itself. */
function isGuarded(patch: unknown): boolean {
  if (Array.isArray(patch)) return patch.some((operation: JsonPatchOperation) => operation.op === "test");
  return (patch as KubeObject).metadata?.resourceVersion !== undefined;
}

function named(verb: string, kind: Kind, ref?: ObjectRef): Pick<Call, "verb" | "resource" | "what"> {
  const object = ref ? ` "${keyOf(ref)}"` : "";
  return { verb, resource: resourceName(kind), what: `${verb} ${kind.kind}${object}` };
}

function withType(kind: Kind, object: KubeObject): KubeObject {
  return { ...object, apiVersion: kind.apiVersion, kind: kind.kind };
}
