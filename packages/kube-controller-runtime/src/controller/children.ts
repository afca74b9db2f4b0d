import type { Caches } from "../cache/caches.ts";
import type { Client } from "../client/client.ts";
import { ApiError, isAlreadyExists, isConflict } from "../client/error.ts";
import { find, findSame } from "../client/find.ts";
import { type Kind, type KubeObject, keyOfObject, refOf, type Stored } from "../object.ts";
import { controllerOf } from "../owner.ts";
import { wasAppliedLast, withMarks, withMetadata } from "./desired.ts";
import {
  adoptFields,
  hasUpdatedFields,
  type ManagedFields,
  ownsAll,
  takeExclusive,
} from "./managed-fields.ts";
import {
  AlreadyOwnedError,
  allOf,
  type Owner,
  type Ownership,
  type OwnershipMarks,
  ownershipOf,
  refuseForeign,
} from "./ownership.ts";

/** The index of children by the UID of their controller, which every owned kind has. */
export const CONTROLLER_INDEX = "controller";

export interface ChildrenOptions {
  /** Writes must appear in the caches: see `Caches.writeThrough`. */
  readonly client: Client;
  /** Sends the same writes without persisting anything. */
  readonly dryRun: Client;
  /** The caches of child kinds must keep the manager's part of `managedFields`: see `withOwnFields`. */
  readonly caches: Caches;
  readonly fieldManager: string;
  readonly marks: OwnershipMarks;
  /** Called when fields of a child that another client had changed were reverted to the spec. */
  readonly onReverted?: (owner: Owner, child: Stored<KubeObject>) => void;
}

export interface ApplyOptions {
  /** Rejects with `Conflict` unless the child still has this version. */
  readonly resourceVersion?: string;
  /** Returns an object that is handed over unchanged instead of adopting it yet. */
  readonly deferAdoption?: boolean;
}

/**
 * No object has this version, so an apply with it creates a missing object and fails with `Conflict` if there
 * is one. Unlike a POST, it makes the apply the manager of the fields from the beginning.
 */
const NEVER = "1";

const MAX_TRIES = 5;

interface Child<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly desired: T;
  readonly owner: Owner;
  /** The version that the object must have. */
  readonly resourceVersion?: string | undefined;
}

/**
 * Brings children to their desired state by server-side apply. An object that is not known to be ours is
 * created or refused, never overwritten, and objects of others are never changed or deleted (`ownershipOf`
 * decides the ownership). The manager's fields of earlier writes are transferred to its apply before the
 * first one, so that omitting a field removes it.
 *
 * An apply is skipped if the child records that the same content was applied last and its managed fields have
 * not changed. This needs no memory, so a restarted process makes no writes.
 */
export class Children {
  readonly #client: Client;
  readonly #options: ChildrenOptions;
  /** Cached children whose fields have not changed since they were applied last. */
  readonly #unchanged = new WeakSet<Stored<KubeObject>>();

  constructor(options: ChildrenOptions) {
    this.#client = options.client;
    this.#options = options;
  }

  /** Whether an object belongs to the owner now; an object that is only handed over does not yet. */
  owns(present: Stored<KubeObject>, owner: Owner): boolean {
    return !["foreign", "handedOver"].includes(this.#ownership(present, owner));
  }

  /** Whether an object belongs to the owner or is handed over to it. */
  mayAdopt(present: Stored<KubeObject>, owner: Owner): boolean {
    return this.#ownership(present, owner) !== "foreign";
  }

  /** Throws `AlreadyOwnedError` unless `present` may become the child `desired`. Makes no request. */
  refuseForeign<T extends KubeObject>(
    kind: Kind<T>,
    child: { readonly present: Stored<T>; readonly desired: T; readonly owner: Owner },
  ): void {
    refuseForeign(kind, child, this.#options.marks);
  }

  /**
   * Makes the child equal to `desired` in every field that it sets, with `owner` as its controller; in
   * another namespace, with the owner's UID as an annotation. Throws `AlreadyOwnedError` if the name is taken.
   */
  async apply<T extends KubeObject>(
    kind: Kind<T>,
    desired: T,
    owner: Owner,
    { resourceVersion, deferAdoption = false }: ApplyOptions = {},
  ): Promise<Stored<T>> {
    const child = { kind, desired: withMarks(desired, owner, this.#options.marks), owner, resourceVersion };
    let present = this.#options.caches.of(kind).get(keyOfObject(desired));
    // The caller may have newer information than the cache, which only holds objects with our label.
    if (resourceVersion && present?.metadata.resourceVersion !== resourceVersion)
      present = await find(this.#client, kind, refOf(desired));
    for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
      if (resourceVersion && present?.metadata.resourceVersion !== resourceVersion) break;
      if (deferAdoption && present && this.#ownership(present, owner) === "handedOver") return present;
      const result = present ? await this.#converge(child, present) : await this.#make(child, attempt);
      if (result) return result;
      present = await find(this.#client, kind, refOf(desired));
    }
    const message = `apply ${kind.kind} "${keyOfObject(desired)}": another client changed it`;
    throw new ApiError(message, { reason: "Conflict", code: 409 });
  }

  /**
   * Creates a child that must not exist yet; rejects with `AlreadyExists` or `AlreadyOwnedError` if it does. A
   * child that outlives its owner has no owner reference, so that it is not garbage-collected: only its
   * labels identify the owner.
   */
  async create<T extends KubeObject>(
    kind: Kind<T>,
    desired: T,
    { outlives = false, ...owner }: Owner & { readonly outlives?: boolean },
  ): Promise<Stored<T>> {
    const child = outlives ? desired : withMarks(desired, owner, this.#options.marks);
    const made = await this.#make({ kind, desired: child, owner }, 1);
    if (made) return made;
    const present = await find(this.#client, kind, refOf(desired));
    if (present) refuseForeign(kind, { present, desired, owner }, this.#options.marks);
    const message = `create ${kind.kind} "${keyOfObject(desired)}": it already exists`;
    throw new ApiError(message, { reason: "AlreadyExists", code: 409 });
  }

  /**
   * Makes `desired` the only children of a kind that `owner` controls: applies them concurrently, and then
   * deletes the others. The controller must `own` the kind.
   */
  async converge<T extends KubeObject>(
    kind: Kind<T>,
    desired: readonly T[],
    owner: Owner,
  ): Promise<Stored<T>[]> {
    const applied = await allOf(desired.map((child) => this.apply(kind, child, owner)));
    const wanted = new Set(applied.map(keyOfObject));
    const present = this.#options.caches.of(kind).byIndex(CONTROLLER_INDEX, owner.object.metadata.uid);
    const others = present.filter((child) => !wanted.has(keyOfObject(child)));
    await allOf(others.map((child) => this.remove(kind, child, owner)));
    return applied;
  }

  /**
   * The result of an `apply` of the owner's child, without persisting it. Resolves with `undefined` if the
   * child does not exist, and without a request if the apply would be skipped.
   */
  async preview<T extends KubeObject>(
    kind: Kind<T>,
    desired: T,
    owner: Owner,
  ): Promise<Stored<T> | undefined> {
    const { caches, marks, dryRun } = this.#options;
    const present = caches.of(kind).get(keyOfObject(desired));
    if (!present || !this.owns(present, owner)) return undefined;
    const child = withMarks(desired, owner, marks);
    if (wasAppliedLast(present, child, marks) && this.#isUnchanged(present, child)) return undefined;
    return dryRun.apply(kind, withMetadata(child, { uid: present.metadata.uid }));
  }

  /**
   * Patches a child in exactly this version, for changes that an apply can't make; never changes an object
   * that the owner does not own.
   */
  async patch<T extends KubeObject>(
    kind: Kind<T>,
    present: Stored<T>,
    { owner, patch }: { owner: Owner; patch: { metadata?: object; readonly [field: string]: unknown } },
  ): Promise<void> {
    if (!this.owns(present, owner)) return;
    const metadata = { ...patch.metadata, ...versionOf(present) };
    await this.#client.mergePatch(kind, refOf(present), { ...patch, metadata });
  }

  /** Removes the owner reference, so that the object outlives its owner. */
  async release<T extends KubeObject>(kind: Kind<T>, present: Stored<T>, owner: Owner): Promise<void> {
    const { ownerReferences = [] } = present.metadata;
    const others = ownerReferences.filter(({ uid }) => uid !== owner.object.metadata.uid);
    if (others.length === ownerReferences.length) return;
    await this.patch(kind, present, { owner, patch: { metadata: { ownerReferences: others } } });
  }

  /** Deletes exactly this child, unless it is already being deleted or is not ours. */
  async remove<T extends KubeObject>(kind: Kind<T>, present: Stored<T>, owner: Owner): Promise<void> {
    if (present.metadata.deletionTimestamp || !this.owns(present, owner)) return;
    // The version is required too: another client may have taken the object back since the cache saw it.
    await this.#client.delete(kind, refOf(present), versionOf(present));
  }

  /** Resolves with `undefined` if the name belongs to an object that is not ours. */
  async #make<T extends KubeObject>(
    { kind, desired }: Child<T>,
    attempt: number,
  ): Promise<Stored<T> | undefined> {
    try {
      // A server that does not create an object with a version still creates one by POST.
      if (attempt > 1) return await this.#client.create(kind, desired);
      return await this.#client.apply(kind, withMetadata(desired, { resourceVersion: NEVER }));
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  /** Whether the fields of a child are unchanged since `applied` was applied last. */
  #isUnchanged(present: Stored<KubeObject>, applied: KubeObject): boolean {
    if (this.#unchanged.has(present)) return true;
    const isUnchanged = ownsAll(present, applied, this.#options.fieldManager);
    if (isUnchanged) this.#unchanged.add(present);
    return isUnchanged;
  }

  /** Resolves with `undefined` if the object is not the expected one. */
  async #converge<T extends KubeObject>(child: Child<T>, seen: Stored<T>): Promise<Stored<T> | undefined> {
    const { kind, desired, owner, resourceVersion } = child;
    const ownership = refuseForeign(kind, { present: seen, desired, owner }, this.#options.marks);
    const isAdopted = ownership === "ours" && !hasUpdatedFields(seen, this.#options.fieldManager);
    const isLast = wasAppliedLast(seen, desired, this.#options.marks);
    if (isAdopted && isLast && this.#isUnchanged(seen, desired)) return seen;
    try {
      if (isAdopted) {
        const condition = { uid: seen.metadata.uid, ...(resourceVersion && { resourceVersion }) };
        const applied = await this.#client.apply(kind, withMetadata(desired, condition));
        if (isLast) this.#options.onReverted?.(owner, applied);
        return applied;
      }
      const present = await this.#adopt(child);
      return present && (await this.#client.apply(kind, withMetadata(desired, versionOf(present))));
    } catch (error) {
      if (isConflict(error) || (await this.#isAnother(child, seen, error))) return undefined;
      if (error instanceof ApiError && (await this.#takeExclusive(child, error))) return undefined;
      throw error;
    }
  }

  /**
   * If the API server rejects fields, takes over those that others have set next to ours: an environment
   * variable to which a user added `valueFrom` can't have our `value` too. Resolves with whether there was
   * anything to take over.
   */
  async #takeExclusive<T extends KubeObject>(
    { kind, desired, owner }: Child<T>,
    { reason, fields }: ApiError,
  ): Promise<boolean> {
    if (reason !== "Invalid" || fields.length === 0) return false;
    const present = await find(this.#client, kind, refOf(desired));
    if (!present || !this.owns(present, owner)) return false;
    const { managedFields } = present.metadata;
    const taken = takeExclusive(managedFields, { manager: this.#options.fieldManager, paths: fields });
    if (!taken) return false;
    await this.#giveFields(kind, present, taken);
    return true;
  }

  /** Transfers fields to our apply, in an object that the owner may still adopt. */
  async #adopt<T extends KubeObject>(child: Child<T>): Promise<Stored<T> | undefined> {
    const { kind, desired, owner } = child;
    const present = await find(this.#client, kind, refOf(desired));
    const wanted = child.resourceVersion ?? present?.metadata.resourceVersion;
    if (!present || present.metadata.resourceVersion !== wanted) return undefined;
    const ownership = refuseForeign(kind, { present, desired, owner }, this.#options.marks);
    if (ownership === "earlier") await this.#refuseLater(kind, present, owner);
    const takesOver =
      ownership === "ours" ? {} : { takesOver: { controllerUid: controllerOf(present)?.uid } };
    const { managedFields } = present.metadata;
    const adopted = adoptFields(managedFields, { manager: this.#options.fieldManager, ...takesOver });
    return adopted ? this.#giveFields(kind, present, adopted) : present;
  }

  /** Changes no field, only the managers. */
  #giveFields<T extends KubeObject>(
    kind: Kind<T>,
    present: Stored<T>,
    managedFields: readonly ManagedFields[],
  ): Promise<Stored<T>> {
    return this.#client.jsonPatch(kind, refOf(present), [
      { op: "replace", path: "/metadata/managedFields", value: managedFields },
      { op: "replace", path: "/metadata/resourceVersion", value: present.metadata.resourceVersion },
    ]);
  }

  /** To a run with an outdated owner, the child of a newer owner looks like that of an earlier one. */
  async #refuseLater(kind: Kind, present: Stored<KubeObject>, owner: Owner): Promise<void> {
    if (await findSame(this.#client, owner.kind, owner.object)) return;
    const holder = `a later ${owner.kind.kind} "${owner.object.metadata.name}"`;
    throw new AlreadyOwnedError([{ kind, ref: refOf(present), holder }]);
  }

  /** The API server returns Invalid for an apply to a different UID, or for a second controller. */
  async #isAnother<T extends KubeObject>(
    { kind, desired, owner }: Child<T>,
    seen: Stored<T>,
    error: unknown,
  ): Promise<boolean> {
    if (!(error instanceof ApiError && error.reason === "Invalid")) return false;
    const present = await find(this.#client, kind, refOf(desired));
    return present?.metadata.uid !== seen.metadata.uid || !this.owns(present, owner);
  }

  #ownership(present: Stored<KubeObject>, owner: Owner): Ownership["is"] {
    return ownershipOf(present, owner, this.#options.marks).is;
  }
}

function versionOf({ metadata: { uid, resourceVersion } }: Stored<KubeObject>) {
  return { uid, resourceVersion };
}
