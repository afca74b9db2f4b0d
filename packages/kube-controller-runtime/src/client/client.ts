import type { Fence } from "../fence.ts";
import type { Kind, KubeObject, ObjectRef, Stored } from "../object.ts";

export interface Selection {
  /** Only this namespace; every namespace when absent. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Ask the server for `metadata` alone: spec, status and data never cross the wire. */
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
  /** Present when there are more items. */
  readonly continueToken: string | undefined;
}

/** Which objects to watch, from where on, and for how long. */
export interface WatchOptions extends Selection {
  readonly resourceVersion?: string;
  /** Ask the server to send the present state first, closed by a bookmark with `initialEventsEnd`. */
  readonly sendInitialEvents?: boolean;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds: number;
  /** No whole event for this long means that the connection is dead; longer than `timeoutSeconds`. */
  readonly idleTimeoutMs: number;
  readonly signal?: AbortSignal;
}

/** One line of a watch. `ERROR` lines are thrown as `ApiError`, so they never appear here. */
export interface WatchEvent<T extends KubeObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: Stored<T>;
}

export interface DeleteOptions {
  /** Delete only this incarnation of the object; another one of the same name gives `Conflict`. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  /** How long a pod may take to end; absent means as long as its spec says, 0 removes it at once. */
  readonly gracePeriodSeconds?: number;
}

/** One operation of an RFC 6902 patch. */
export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "test";
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The API server, typed by kind. Every method throws `ApiError` on failure and has a deadline;
 * what comes back is exactly what the server stored.
 */
export interface Client {
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef): Promise<Stored<T>>;
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<Page<T>>;
  watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<Stored<T>>;
  /** Server-side apply with our field manager, taking fields over from others where they clash. */
  apply<T extends KubeObject>(kind: Kind<T>, object: T): Promise<Stored<T>>;
  /** JSON merge patch. With `metadata.resourceVersion` in the patch it fails with `Conflict` on a newer object. */
  mergePatch<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, patch: object): Promise<Stored<T>>;
  jsonPatch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    operations: readonly JsonPatchOperation[],
  ): Promise<Stored<T>>;
  /** JSON merge patch of the status subresource. */
  patchStatus<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, patch: object): Promise<Stored<T>>;
  /** Resolves with the object while finalizers or a grace period keep it, with `undefined` once it is gone. */
  delete<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    options?: DeleteOptions,
  ): Promise<Stored<T> | undefined>;
}

/** A client from which one can be had that sends no write unless a fence lets it pass. */
export interface FenceableClient extends Client {
  /**
   * The same client with `NotLeaderError` for every write that the fence does not let pass at the moment it
   * goes to the server. Reads pass, so that a standby keeps its caches warm.
   */
  fencedBy(fence: Fence): Client;
  /** The same client, whose writes the API server checks, admits and answers as others, but does not store. */
  dryRun(): FenceableClient;
}
