import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { JsonPatchOperation } from "../../src/client/client.ts";
import { type Clock, timestamp } from "../../src/clock.ts";
import { type Kind, type KubeObject, keyOf, type ObjectRef, resourceName } from "../../src/object.ts";
import { normalized, validate } from "./admission.ts";
import { alreadyExists, conflict, invalid, notFound } from "./failure.ts";
import { applied, updated } from "./ownership.ts";
import { type JsonObject, jsonPatch, mergePatch } from "./patches.ts";
import type { Schema } from "./schema.ts";
import type { FakeObject, Storage } from "./storage.ts";

/** A kind with the properties that determine the API server's behavior. */
export interface ServedKind extends Kind {
  /** Has a status subresource and a generation. */
  readonly hasStatus: boolean;
  /** Defined by a CustomResourceDefinition. */
  readonly custom: boolean;
  /** The schema of its CustomResourceDefinition, if relevant for a test. */
  readonly schema?: Schema;
}

export type FakePatch =
  | { readonly type: "apply" | "merge"; readonly body: JsonObject }
  | { readonly type: "json"; readonly body: readonly JsonPatchOperation[] };

/** One write to one object. */
export interface Write {
  readonly kind: ServedKind;
  readonly ref: ObjectRef;
  readonly manager: string;
  readonly subresource?: string | undefined;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

const DNS_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** The rules for creating, changing and deleting objects. */
export class Registry {
  readonly #storage: Storage;
  readonly #clock: Clock;

  constructor(storage: Storage, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** The same rules on a copy of the objects, for dry runs. */
  copy(): Registry {
    return new Registry(this.#storage.copy(), this.#clock);
  }

  get(kind: Kind, ref: ObjectRef): FakeObject {
    const object = this.#storage.get(resourceName(kind), keyOf(ref));
    if (!object) throw notFound(resourceName(kind), ref.name);
    return object;
  }

  create(write: Write, body: KubeObject): FakeObject {
    const { kind, ref } = write;
    const resource = resourceName(kind);
    if (!DNS_NAME.test(ref.name)) throw invalid(`${kind.kind} "${ref.name}"`, "metadata.name: Invalid value");
    if (this.#storage.get(resource, keyOf(ref))) throw alreadyExists(resource, ref.name);
    const empty = this.#newObject(write);
    const { status: _, ...content } = body as JsonObject;
    const wanted = mergePatch(kind.hasStatus ? content : body, identityOf(empty)) as JsonObject;
    const full = normalized(kind, wanted);
    validate(kind, full);
    return this.#storage.put(resource, updated(empty, full, this.#writer(write)) as FakeObject);
  }

  /** An apply creates a missing object; every other patch requires one. */
  patch(write: Write, patch: FakePatch): { object: FakeObject; created: boolean } {
    const { kind, ref } = write;
    const present = this.#storage.get(resourceName(kind), keyOf(ref));
    if (!present && patch.type !== "apply") throw notFound(resourceName(kind), ref.name);
    const before = present ?? this.#newObject(write);
    if (patch.type === "apply") checkApplied(kind, { ref, present }, patch.body);
    if (!present && !DNS_NAME.test(ref.name))
      throw invalid(`${kind.kind} "${ref.name}"`, "metadata.name: Invalid value");
    const wanted = this.#patched(write, before, patch);
    validate(kind, wanted);
    return { object: this.#store(write, before, wanted), created: !present };
  }

  /** Returns the object while finalizers keep it, `undefined` once it is deleted. */
  delete(kind: ServedKind, ref: ObjectRef, preconditions: Preconditions): FakeObject | undefined {
    const object = this.get(kind, ref);
    const { uid, resourceVersion } = preconditions;
    const { metadata } = object;
    if (
      (uid ?? metadata.uid) !== metadata.uid ||
      (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion
    ) {
      throw conflict(resourceName(kind), ref.name, "Precondition failed");
    }
    if (!metadata.finalizers?.length) {
      this.#storage.remove(resourceName(kind), keyOf(ref));
      return undefined;
    }
    if (metadata.deletionTimestamp) return object;
    const deletion = {
      deletionTimestamp: this.#time(),
      deletionGracePeriodSeconds: 0,
      ...nextGeneration(object),
    };
    return this.#storage.put(resourceName(kind), { ...object, metadata: { ...metadata, ...deletion } });
  }

  #patched(write: Write, before: FakeObject, patch: FakePatch): JsonObject {
    const writer = this.#writer(write);
    if (patch.type === "apply") return this.#scoped(write, before, applied(before, patch.body, writer));
    const changed = patch.type === "json" ? jsonPatch(before, patch.body) : mergePatch(before, patch.body);
    checkVersion(write.kind, before, changed as JsonObject);
    return updated(before, this.#scoped(write, before, changed as JsonObject), writer);
  }

  /** Status writes only change the status, other writes everything else; no write changes the identity. */
  #scoped({ kind, subresource }: Write, before: FakeObject, after: JsonObject): JsonObject {
    const { managedFields } = after.metadata as FakeObject["metadata"];
    const owners = managedFields ? { managedFields } : {};
    if (subresource === "status") {
      return { ...before, status: after.status, metadata: { ...before.metadata, ...owners } };
    }
    const { status: _, ...rest } = after;
    const status = kind.hasStatus ? before.status : after.status;
    const content = status === undefined ? rest : { ...rest, status };
    return normalized(kind, mergePatch(content, identityOf(before)) as JsonObject);
  }

  #store({ kind, ref }: Write, before: FakeObject, wanted: JsonObject): FakeObject {
    const resource = resourceName(kind);
    const after = wanted as FakeObject;
    const isNew = before.metadata.resourceVersion === "";
    if (!isNew && isDeepStrictEqual(withoutTimes(before), withoutTimes(after))) return before;
    if (after.metadata.deletionTimestamp && !after.metadata.finalizers?.length) {
      this.#storage.remove(resource, keyOf(ref));
      // Clients expect the object that they wrote, so it is returned with its previous version.
      return after;
    }
    const counts = kind.hasStatus && !isNew && !isDeepStrictEqual(contentOf(before), contentOf(after));
    const metadata = { ...after.metadata, ...(counts ? nextGeneration(before) : {}) };
    return this.#storage.put(resource, { ...after, metadata });
  }

  #newObject({ kind, ref }: Write): FakeObject {
    return {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: {
        name: ref.name,
        ...(ref.namespace ? { namespace: ref.namespace } : {}),
        uid: randomUUID(),
        creationTimestamp: this.#time(),
        resourceVersion: "",
        ...(kind.hasStatus ? { generation: 1 } : {}),
      },
    };
  }

  #writer({ manager }: Write) {
    return { manager, time: this.#time() };
  }

  #time(): string {
    return timestamp(this.#clock.now());
  }
}

/**
 * An apply that creates an object may specify any version, but no UID; an apply with another UID is invalid.
 */
function checkApplied(
  kind: Kind,
  { ref, present }: { ref: ObjectRef; present: FakeObject | undefined },
  body: JsonObject,
): void {
  const { uid, resourceVersion } = (body.metadata ?? {}) as { uid?: string; resourceVersion?: string };
  if (!present && uid !== undefined)
    throw conflict(resourceName(kind), ref.name, `uid mismatch: the provided object specified uid ${uid}`);
  if (!present) return;
  if (resourceVersion === undefined && (uid ?? present.metadata.uid) !== present.metadata.uid)
    throw invalid(`${kind.kind} "${ref.name}"`, "metadata.uid: Invalid value: field is immutable");
  checkVersion(kind, present, body);
}

function checkVersion(kind: Kind, present: FakeObject, body: JsonObject): void {
  const { resourceVersion, uid } = (body.metadata ?? {}) as { resourceVersion?: string; uid?: string };
  const { metadata } = present;
  if ((resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion) {
    const why = "the object has been modified; please apply your changes to the latest version and try again";
    throw conflict(resourceName(kind), metadata.name, why);
  }
  if ((uid ?? metadata.uid) !== metadata.uid) {
    throw conflict(resourceName(kind), metadata.name, "Precondition failed: UID in precondition");
  }
}

/** A merge patch that restores immutable fields. */
function identityOf({ apiVersion, kind, metadata }: FakeObject): JsonObject {
  const { name, namespace, uid, creationTimestamp, resourceVersion, generation } = metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const identity = { name, namespace, uid, creationTimestamp, resourceVersion, generation };
  const all = { ...identity, deletionTimestamp, deletionGracePeriodSeconds };
  const nulled = Object.entries(all).map(([field, value]) => [field, value ?? null]);
  return { apiVersion, kind, metadata: Object.fromEntries(nulled) };
}

function contentOf({ metadata: _, status: __, ...content }: FakeObject): object {
  return content;
}

function nextGeneration({ metadata }: FakeObject): { generation?: number } {
  return metadata.generation === undefined ? {} : { generation: metadata.generation + 1 };
}

function withoutTimes(object: FakeObject): object {
  const managedFields = object.metadata.managedFields?.map(({ time: _, ...entry }) => entry);
  return { ...object, metadata: { ...object.metadata, managedFields } };
}
