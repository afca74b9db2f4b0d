import { hash } from "node:crypto";
import type { Caches } from "../cache/caches.ts";
import type { Client } from "../client/client.ts";
import { ApiError, isAlreadyExists, isConflict, isNotFound } from "../client/error.ts";
import {
  groupOf,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectRef,
  refOf,
  resourceName,
  type Stored,
} from "../object.ts";
import { controllerOf, controllerReference } from "../owner.ts";
import { adoptUpdatedFields } from "./managed-fields.ts";

/** The object on whose behalf children are made. */
export interface Owner {
  readonly kind: Kind;
  readonly object: Stored<KubeObject>;
}

/** A child's name is taken by an object that belongs to somebody else. It was not touched. */
export class OwnedByAnotherError extends Error {
  override readonly name = "OwnedByAnotherError";
  readonly owner: string;

  constructor(kind: Kind, ref: ObjectRef, owner: string) {
    super(
      `${kind.kind} "${keyOf(ref)}" belongs to ${owner} and is left as it is; rename or delete one of the two`,
    );
    this.owner = owner;
  }
}

/** The index of children by the uid of their controller, which every owned kind has. */
export const CONTROLLER_INDEX = "controller";

/** What we sent last, and how the object looked right after. */
interface Applied {
  readonly sent: string;
  readonly resourceVersion: string;
  readonly result: string;
}

export interface ChildrenOptions {
  /** Writes must show in the caches: see `Caches.writeThrough`. */
  readonly client: Client;
  readonly caches: Caches;
  readonly fieldManager: string;
}

const ADOPTION_TRIES = 5;

/**
 * Brings children to their desired state by server-side apply. An apply is skipped when it would send what
 * it sent before and the cached child still is what came of that, so a run with nothing to do makes no
 * request. A child that another controller owns is never touched; one of an earlier object of the owner's
 * name is replaced. Fields that an earlier, `Update`-style
 * release of the same field manager set are adopted: leaving them out of the desired state removes them.
 */
export class Children {
  readonly #client: Client;
  readonly #caches: Caches;
  readonly #fieldManager: string;
  readonly #applied = new Map<string, Applied>();

  constructor(options: ChildrenOptions) {
    this.#client = options.client;
    this.#caches = options.caches;
    this.#fieldManager = options.fieldManager;
    for (const cache of options.caches.all()) {
      cache.onChange(({ type, object }) => {
        if (type === "deleted") this.#applied.delete(idOf(cache.kind, object));
      });
    }
  }

  /** Makes the child equal to `desired` in every field that it names, with `owner` as its controller. */
  async apply<T extends KubeObject>(kind: Kind<T>, desired: T, owner: Owner): Promise<Stored<T>> {
    const child = ownedBy(desired, owner);
    const present = this.#caches.of(kind).get(keyOfObject(child));
    if (present && !(await this.removeFormer(kind, present, owner))) refuseForeign(kind, present, owner);
    return this.applyUnowned(kind, child).catch((error) => this.#explain(kind, child, { error, owner }));
  }

  /** The same for an object that can't carry an owner reference. Whether it is ours is the caller's to know. */
  async applyUnowned<T extends KubeObject>(kind: Kind<T>, desired: T): Promise<Stored<T>> {
    const id = idOf(kind, desired);
    const sent = hashOf(desired);
    const present = this.#caches.of(kind).get(keyOfObject(desired));
    if (present && this.#isUpToDate(id, { desired, sent, present })) return present;
    const result = await this.#adoptEarlierFields(kind, desired, await this.#client.apply(kind, desired));
    this.#note(id, { desired, sent, result });
    return result;
  }

  /** Makes a child that must not exist yet; rejects with `AlreadyExists` when it does. */
  async create<T extends KubeObject>(kind: Kind<T>, desired: T, owner: Owner): Promise<Stored<T>> {
    const child = ownedBy(desired, owner);
    const result = await this.#client.create(kind, child).catch(async (error) => {
      if (!isAlreadyExists(error)) throw error;
      const present = await this.#client.get(kind, refOf(child));
      if (!(await this.removeFormer(kind, present, owner))) throw error;
      return this.#client.create(kind, child);
    });
    this.#note(idOf(kind, child), { desired: child, sent: hashOf(child), result });
    return result;
  }

  /**
   * Makes `desired` the only children of a kind that `owner` controls: applies them and deletes the others.
   * The kind must be one that its controller `owns`.
   */
  async converge<T extends KubeObject>(
    kind: Kind<T>,
    desired: readonly T[],
    owner: Owner,
  ): Promise<Stored<T>[]> {
    const applied: Stored<T>[] = [];
    for (const child of desired) applied.push(await this.apply(kind, child, owner));
    const wanted = new Set(applied.map(keyOfObject));
    for (const child of this.#caches.of(kind).byIndex(CONTROLLER_INDEX, owner.object.metadata.uid)) {
      if (!wanted.has(keyOfObject(child))) await this.remove(kind, child);
    }
    return applied;
  }

  /** Deletes exactly this incarnation of an object, unless its deletion is already under way. */
  async remove<T extends KubeObject>(kind: Kind<T>, present: Stored<T>): Promise<void> {
    if (present.metadata.deletionTimestamp) return;
    await this.#client.delete(kind, refOf(present), { uid: present.metadata.uid });
  }

  /**
   * Deletes a child of an earlier object that had the owner's name: its owner is gone, so it is garbage. The
   * cluster's own collector gets to it later, or never if it missed that the object was replaced. Returns
   * whether it was such a child.
   */
  async removeFormer<T extends KubeObject>(
    kind: Kind<T>,
    present: Stored<T>,
    owner: Owner,
  ): Promise<boolean> {
    if (!isOfFormer(present, owner)) return false;
    const { metadata } = await this.#client.get(owner.kind, refOf(owner.object));
    // To a run that lags behind, the child of a later object looks like one of an earlier.
    if (metadata.uid !== owner.object.metadata.uid) return false;
    await this.remove(kind, present);
    return true;
  }

  #isUpToDate<T extends KubeObject>(
    id: string,
    { desired, sent, present }: { desired: T; sent: string; present: Stored<T> },
  ): boolean {
    const applied = this.#applied.get(id);
    if (applied?.sent !== sent) return false;
    if (applied.resourceVersion === present.metadata.resourceVersion) return true;
    return applied.result === fingerprint(present, desired);
  }

  #note<T extends KubeObject>(
    id: string,
    { desired, sent, result }: { desired: T; sent: string; result: Stored<T> },
  ): void {
    const { resourceVersion } = result.metadata;
    this.#applied.set(id, { sent, resourceVersion, result: fingerprint(result, desired) });
  }

  async #adoptEarlierFields<T extends KubeObject>(
    kind: Kind<T>,
    desired: T,
    applied: Stored<T>,
  ): Promise<Stored<T>> {
    let result = applied;
    for (let attempt = 1; ; attempt++) {
      const managedFields = adoptUpdatedFields(result.metadata.managedFields, this.#fieldManager);
      if (!managedFields) return result;
      try {
        await this.#client.jsonPatch(kind, refOf(desired), [
          { op: "replace", path: "/metadata/managedFields", value: managedFields },
          { op: "replace", path: "/metadata/resourceVersion", value: result.metadata.resourceVersion },
        ]);
      } catch (error) {
        if (!isConflict(error) || attempt === ADOPTION_TRIES) throw error;
      }
      result = await this.#client.apply(kind, desired);
    }
  }

  /** The API server refuses a second controller on an object that the cache did not show; say who the first is. */
  async #explain<T extends KubeObject>(
    kind: Kind<T>,
    desired: T,
    { error, owner }: { error: unknown; owner: Owner },
  ): Promise<never> {
    if (error instanceof ApiError && error.reason === "Invalid") {
      const present = await this.#client.get(kind, refOf(desired)).catch((reason) => {
        if (isNotFound(reason)) throw error;
        throw reason;
      });
      refuseForeign(kind, present, owner);
    }
    throw error;
  }
}

function idOf(kind: Kind, object: KubeObject): string {
  return `${resourceName(kind)}/${keyOfObject(object)}`;
}

function hashOf(desired: KubeObject): string {
  return hash("sha1", JSON.stringify(desired));
}

function ownedBy<T extends KubeObject>(desired: T, owner: Owner): T {
  const ownerReferences = [controllerReference(owner.object, owner.kind)];
  return { ...desired, metadata: { ...desired.metadata, ownerReferences } };
}

function isOfFormer(present: Stored<KubeObject>, { kind, object }: Owner): boolean {
  const controller = controllerOf(present);
  if (!controller || controller.uid === object.metadata.uid) return false;
  return (
    groupOf(controller) === groupOf(kind) &&
    controller.kind === kind.kind &&
    controller.name === object.metadata.name
  );
}

function refuseForeign(kind: Kind, present: Stored<KubeObject>, owner: Owner): void {
  const controller = controllerOf(present);
  if (!controller || controller.uid === owner.object.metadata.uid) return;
  throw new OwnedByAnotherError(kind, refOf(present), `${controller.kind} "${controller.name}"`);
}

/**
 * A hash of all that an apply of `desired` could change: the content, and of labels and annotations those
 * that we set. Status and what other managers add to the metadata do not count, nor does the type, which
 * the items of a list leave out.
 */
function fingerprint(object: Stored<KubeObject>, desired: KubeObject): string {
  const { metadata, ...fields } = object;
  const { apiVersion: _, kind: __, status: ___, ...content } = fields as KubeObject & { status?: unknown };
  const { labels, annotations } = desired.metadata ?? {};
  return hash(
    "sha1",
    JSON.stringify([
      content,
      pick(metadata.labels, labels),
      pick(metadata.annotations, annotations),
      metadata.ownerReferences,
    ]),
  );
}

function pick(
  from: Record<string, string> | undefined,
  named: Record<string, string> | undefined,
): unknown[] {
  return Object.keys(named ?? {}).map((name) => from?.[name]);
}
