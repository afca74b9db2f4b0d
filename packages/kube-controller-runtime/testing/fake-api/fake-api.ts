import { randomUUID } from "node:crypto";
import { HttpClient } from "../../src/client/http-client.ts";
import type { Transport, TransportRequest, TransportResponse } from "../../src/client/transport.ts";
import type { Clock } from "../../src/clock.ts";
import * as builtIn from "../../src/kinds.ts";
import { type Kind, type KubeObject, keyOfObject, type ObjectRef, resourceName } from "../../src/object.ts";
import { type Address, pageNotFound, parseAddress } from "./address.ts";
import { badRequest, expired, Failure, invalid, statusOf } from "./failure.ts";
import type { JsonObject } from "./patches.ts";
import { type FakePatch, type Preconditions, Registry, type ServedKind, type Write } from "./registry.ts";
import { bookmark, json, metadataOf, text, untyped } from "./responses.ts";
import type { Schema } from "./schema.ts";
import { fieldPredicate, labelPredicate, type Predicate } from "./selectors.ts";
import { type FakeObject, Storage } from "./storage.ts";
import { answerSubresource, isOther } from "./subresources.ts";
import { WatchFeed } from "./watch-feed.ts";

const PATCH_TYPES: Readonly<Record<string, FakePatch["type"]>> = {
  "application/apply-patch+yaml": "apply",
  "application/merge-patch+json": "merge",
  "application/json-patch+json": "json",
};
const WITH_STATUS: readonly Kind[] = [
  builtIn.Deployment,
  builtIn.Ingress,
  builtIn.Job,
  builtIn.Pod,
  builtIn.Service,
];
const BUILT_IN = Object.values(builtIn).filter(
  (value): value is Kind<never> => typeof value === "object" && value.of === undefined,
);

/**
 * An in-memory API server behind the client's transport. It behaves like a real one, as verified by the
 * suites in `test/contract` of this package, and it uses the given clock, so tests run in virtual time.
 */
export class FakeApi implements Transport {
  /** If false, the server rejects streaming lists, like servers before 1.32. */
  streamsLists = true;
  /** The lag of a streamed list: changes during this time arrive before its end. */
  streamLagMs = 0;
  readonly #clock: Clock;
  readonly #storage = new Storage();
  readonly #registry: Registry;
  readonly #kinds = new Map<string, ServedKind>();
  readonly #feeds = new Set<WatchFeed>();
  readonly #pages = new Map<string, { readonly version: number; readonly items: FakeObject[] }>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#registry = new Registry(this.#storage, clock);
    for (const kind of BUILT_IN)
      this.#serve({ ...kind, hasStatus: WITH_STATUS.includes(kind), custom: false });
  }

  /** A client of this server. */
  client(fieldManager = "test"): HttpClient {
    return new HttpClient({ transport: this, clock: this.#clock, fieldManager, userAgent: "test" });
  }

  /** Serves a kind, as after the installation of its CustomResourceDefinition, optionally with a schema. */
  install(kind: Kind, schema?: Schema): void {
    this.#serve({ ...kind, hasStatus: true, custom: true, ...(schema ? { schema } : {}) });
  }

  /** Stops serving a kind, as after the deletion of its CustomResourceDefinition: its objects are deleted. */
  uninstall(kind: Kind): void {
    const resource = resourceName(kind);
    for (const object of this.#storage.all(resource)) this.#storage.remove(resource, keyOfObject(object));
    this.#kinds.delete(`${kind.apiVersion}/${kind.plural}`);
  }

  /** Drops all history, including continue tokens. */
  compact(): void {
    this.#storage.compact();
    this.#pages.clear();
  }

  /** Saves the current state; the returned function restores it, like an etcd backup. */
  backUp(): () => void {
    const restore = this.#storage.backUp();
    return () => {
      this.endWatches();
      restore();
    };
  }

  /** Ends every open watch gracefully, like a server that shuts down. */
  endWatches(): void {
    for (const feed of [...this.#feeds]) feed.end();
  }

  get openWatches(): number {
    return this.#feeds.size;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    request.signal.throwIfAborted();
    request.admit?.();
    try {
      return this.#answer(request, parseAddress(request.path));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return error.reason === "" ? text(error.code, error.message) : json(error.code, statusOf(error));
    }
  }

  async close(): Promise<void> {
    for (const feed of [...this.#feeds]) feed.fail(new Error("the transport was closed"));
  }

  #serve(kind: ServedKind): void {
    this.#kinds.set(`${kind.apiVersion}/${kind.plural}`, kind);
  }

  #answer(request: TransportRequest, address: Address): TransportResponse {
    const kind = this.#kinds.get(`${address.apiVersion}/${address.plural}`);
    if (!kind || (address.subresource === "status" && !kind.hasStatus)) throw pageNotFound();
    const { name, namespace } = address;
    const registry = isDryRun(request, address) ? this.#registry.copy() : this.#registry;
    if (name !== undefined && isOther(address.subresource))
      return answerSubresource(registry, { kind, ref: { namespace, name }, ...writerOf(address) }, request);
    if (request.method === "POST") return this.#create(registry, { kind, address }, bodyOf(request));
    if (name === undefined) {
      if (address.query.get("watch") === "true") return this.#watch(kind, address, request);
      return this.#list(kind, address, isMetadataOnly(request));
    }
    const ref = { namespace, name };
    if (request.method === "PATCH")
      return this.#patch(registry, { kind, ref, ...writerOf(address) }, request);
    if (request.method === "DELETE") return this.#delete(registry, { kind, ref }, bodyOf(request));
    return json(200, this.#registry.get(kind, ref));
  }

  #create(
    registry: Registry,
    { kind, address }: { kind: ServedKind; address: Address },
    body: KubeObject,
  ): TransportResponse {
    const ref = { namespace: address.namespace, name: body.metadata?.name ?? "" };
    return json(201, registry.create({ kind, ref, ...writerOf(address) }, body));
  }

  #patch(registry: Registry, write: Write, request: TransportRequest): TransportResponse {
    const type = PATCH_TYPES[request.headers["content-type"] ?? ""];
    if (!type)
      throw new Failure(415, "UnsupportedMediaType", "the body of the request was in an unknown format");
    const { object, created } = registry.patch(write, { type, body: bodyOf(request) } as FakePatch);
    return json(created ? 201 : 200, object);
  }

  #delete(
    registry: Registry,
    { kind, ref }: { kind: ServedKind; ref: ObjectRef },
    options: { preconditions?: Preconditions },
  ): TransportResponse {
    const { uid } = registry.get(kind, ref).metadata;
    const remains = registry.delete(kind, ref, options.preconditions ?? {});
    const details = { name: ref.name, kind: kind.plural, uid };
    return json(
      200,
      remains ?? { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details },
    );
  }

  #list(kind: ServedKind, address: Address, metadataOnly: boolean): TransportResponse {
    const { version, items } = this.#page(kind, address);
    const limit = Number(address.query.get("limit") ?? 0) || items.length;
    const rest = items.slice(limit);
    const token = rest.length > 0 ? randomUUID() : undefined;
    if (token) this.#pages.set(token, { version, items: rest });
    const view = metadataOnly ? metadataOf : kind.custom ? (object: FakeObject) => object : untyped;
    return json(200, {
      kind: metadataOnly ? "PartialObjectMetadataList" : `${kind.kind}List`,
      apiVersion: metadataOnly ? "meta.k8s.io/v1" : kind.apiVersion,
      metadata: { resourceVersion: String(version), ...(token ? { continue: token } : {}) },
      items: items.slice(0, limit).map(view),
    });
  }

  #page(kind: ServedKind, address: Address): { version: number; items: FakeObject[] } {
    const token = address.query.get("continue");
    if (!token) {
      const items = this.#storage.all(resourceName(kind)).filter(predicateOf(kind, address));
      return { version: this.#storage.version, items };
    }
    const page = this.#pages.get(token);
    if (!page)
      throw expired("The provided continue parameter is too old to display a consistent list result.");
    return page;
  }

  #watch(kind: ServedKind, address: Address, request: TransportRequest): TransportResponse {
    const { query } = address;
    const streamsList = query.get("sendInitialEvents") === "true";
    if (streamsList) this.#checkStreaming(query);
    const metadataOnly = isMetadataOnly(request);
    const version = query.get("resourceVersion");
    const feed = new WatchFeed(
      {
        resource: resourceName(kind),
        matches: predicateOf(kind, address),
        view: metadataOnly ? metadataOf : (object) => object,
        fromVersion: version && !streamsList ? Number(version) : undefined,
        initialEndAfterMs: streamsList ? this.streamLagMs : undefined,
        bookmark: (at, annotations) => bookmark(kind, at, annotations),
        bookmarks: query.get("allowWatchBookmarks") === "true",
        timeoutMs: Number(query.get("timeoutSeconds") ?? 1_800) * 1_000,
      },
      this.#storage,
      this.#clock,
    );
    this.#feeds.add(feed);
    feed.whenOver(() => this.#feeds.delete(feed));
    request.signal.addEventListener("abort", () => feed.fail(request.signal.reason), { once: true });
    return { status: 200, headers: { "content-type": "application/json" }, body: feed.body };
  }

  #checkStreaming(query: URLSearchParams): void {
    if (!this.streamsLists) throw invalid("ListOptions.meta.k8s.io", "sendInitialEvents: Forbidden");
    if (query.get("resourceVersionMatch") !== "NotOlderThan") {
      throw invalid("ListOptions.meta.k8s.io", "resourceVersionMatch: Forbidden: must be NotOlderThan");
    }
  }
}

function predicateOf(kind: Kind, { namespace, query }: Address): Predicate {
  const labels = query.get("labelSelector");
  const fields = query.get("fieldSelector");
  const predicates: Predicate[] = [];
  if (namespace) predicates.push(({ metadata }) => metadata.namespace === namespace);
  if (labels) predicates.push(labelPredicate(labels));
  if (fields) predicates.push(fieldPredicate(kind, fields));
  return (object) => predicates.every((holds) => holds(object));
}

function writerOf({ query, subresource }: Address): Pick<Write, "manager" | "subresource"> {
  return { manager: query.get("fieldManager") ?? "unknown", subresource };
}

function bodyOf<T extends object = JsonObject>({ body }: TransportRequest): T {
  try {
    return JSON.parse(body ?? "{}") as T;
  } catch {
    throw badRequest("the object provided is unrecognized");
  }
}

/** Whether the write is a dry run. */
function isDryRun(request: TransportRequest, { query }: Address): boolean {
  if (request.method === "GET") return false;
  return query.has("dryRun") || bodyOf<{ dryRun?: unknown }>(request).dryRun !== undefined;
}

function isMetadataOnly({ headers }: TransportRequest): boolean {
  return headers.accept?.includes("as=PartialObjectMetadata") ?? false;
}
