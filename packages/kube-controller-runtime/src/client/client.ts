import type { Fence } from "../fence.ts";
import type { Kind, KubeObject, ObjectRef, Stored } from "../object.ts";

export interface Selection {
  /** Limits the request to this namespace; absent means all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Requests only `metadata`: spec, status and data are not transferred. */
  readonly metadataOnly?: boolean | undefined;
}

export interface ListOptions extends Selection {
  readonly limit?: number;
  readonly continueToken?: string | undefined;
  readonly signal?: AbortSignal;
}

export interface Page<T extends KubeObject> {
  readonly items: readonly Stored<T>[];
  readonly resourceVersion: string;
  /** Present if there are more items. */
  readonly continueToken: string | undefined;
}

/** Which objects to watch, from which version, and for how long. */
export interface WatchOptions extends Selection {
  readonly resourceVersion?: string;
  /** Requests the current state first, terminated by a bookmark with `initialEventsEnd`. */
  readonly sendInitialEvents?: boolean;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds: number;
  /**
   * Maximum time without a complete event before the connection counts as dead; longer than `timeoutSeconds`.
   */
  readonly idleTimeoutMs: number;
  readonly signal?: AbortSignal;
}

/** One line of a watch. `ERROR` lines are thrown as `ApiError`, so they never appear here. */
export interface WatchEvent<T extends KubeObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: Stored<T>;
}

export interface DeleteOptions {
  /** Deletes only the object with this UID; otherwise the request fails with `Conflict`. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  /** The termination grace period of a pod; defaults to that of its spec, 0 removes it immediately. */
  readonly gracePeriodSeconds?: number;
}

/** One operation of an RFC 6902 patch. */
export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "test";
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The API server, typed by kind. Every method throws `ApiError` on failure and has a deadline. Results are
 * exactly what the server stored.
 */
export interface Client {
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef): Promise<Stored<T>>;
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<Page<T>>;
  watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<Stored<T>>;
  /** Server-side apply with the client's field manager, taking over conflicting fields. */
  apply<T extends KubeObject>(kind: Kind<T>, object: T): Promise<Stored<T>>;
  /**
   * JSON merge patch. With `metadata.resourceVersion` in the patch, it fails with `Conflict` if the object
   * has changed.
   */
  mergePatch<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, patch: object): Promise<Stored<T>>;
  jsonPatch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    operations: readonly JsonPatchOperation[],
  ): Promise<Stored<T>>;
  /** JSON merge patch of the status subresource. */
  patchStatus<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, patch: object): Promise<Stored<T>>;
  /**
   * Resolves with the object while finalizers or a grace period delay its deletion, and with `undefined` once
   * it is deleted.
   */
  delete<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    options?: DeleteOptions,
  ): Promise<Stored<T> | undefined>;
}

/** A client from which a fenced client can be derived. */
export interface FenceableClient extends Client {
  /**
   * A view of this client that throws `NotLeaderError` for every write that the fence does not admit when it
   * is sent. Reads are always sent, so that a standby keeps its caches up to date.
   */
  fencedBy(fence: Fence): Client;
  /** A view of this client whose writes the API server validates but does not persist. */
  dryRun(): FenceableClient;
}
