import type { Caches } from "../cache/caches.ts";
import type { Client } from "../client/client.ts";
import { ApiError, isAlreadyExists, isConflict } from "../client/error.ts";
import { find, findSame } from "../client/find.ts";
import { type Kind, type KubeObject, keyOfObject, refOf, type Stored } from "../object.ts";
import { controllerOf } from "../owner.ts";
import { marked, on, wasAppliedLast } from "./desired.ts";
import {
  adoptFields,
  hasUpdatedFields,
  type ManagedFields,
  ownsAll,
  takeExclusive,
} from "./managed-fields.ts";
import {
  allOf,
  NotOursError,
  type Owner,
  type OwnershipMarks,
  refuseForeign,
  type Standing,
  standingOf,
} from "./ownership.ts";

/** The index of children by the uid of their controller, which every owned kind has. */
export const CONTROLLER_INDEX = "controller";

export interface ChildrenOptions {
  /** Writes must show in the caches: see `Caches.writeThrough`. */
  readonly client: Client;
  /** Sends the same without storing anything. */
  readonly dryRun: Client;
  /** Those of the kinds of children must keep our manager's part of `managedFields`: see `withOwnFields`. */
  readonly caches: Caches;
  readonly fieldManager: string;
  readonly marks: OwnershipMarks;
  /** Called when fields of a child that somebody else had changed were set back to what the spec says. */
  readonly onReverted?: (owner: Owner, child: Stored<KubeObject>) => void;
}

export interface ApplyOptions {
  /** Rejects with `Conflict` unless the child still has this version. */
  readonly resourceVersion?: string;
  /** Resolves with an object that is handed over as it is, instead of taking it: its time has not come. */
  readonly leaveHandedOver?: boolean;
}

/**
 * No object has this version, so an apply on the condition of it makes an object that is missing and is a
 * `Conflict` where there is one. Unlike a POST it leaves the fields with our apply from the beginning.
 */
const NEVER = "1";

const MAX_TRIES = 5;

interface Child<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly desired: T;
  readonly owner: Owner;
  /** The version that it must have. */
  readonly resourceVersion?: string | undefined;
}

/**
 * Brings children to their desired state by server-side apply. What is not known to be ours is made or refused,
 * never applied over, and no object of somebody else is changed or deleted (`standingOf` says whose it is). Which
 * fields of a child are ours is handed over to our apply before the first one, so leaving them out removes them.
 *
 * An apply is skipped when the child says that the same was applied last and that nobody has changed it since.
 * That needs no memory, so a process that has just started makes no request either.
 */
export class Children {
  readonly #client: Client;
  readonly #options: ChildrenOptions;
  /** Children as the caches have them of which nobody has changed a field since they were applied last. */
  readonly #unchanged = new WeakSet<Stored<KubeObject>>();

  constructor(options: ChildrenOptions) {
    this.#client = options.client;
    this.#options = options;
  }

  /** Whether an object belongs to the owner now; what is only handed over does not yet. */
  owns(present: Stored<KubeObject>, owner: Owner): boolean {
    return !["foreign", "handedOver"].includes(this.#standing(present, owner));
  }

  /** Whether an object is the owner's, or handed over to it. */
  mayTake(present: Stored<KubeObject>, owner: Owner): boolean {
    return this.#standing(present, owner) !== "foreign";
  }

  /** Throws `NotOursError` unless `present` may become the child `desired`. Makes no request. */
  refuseForeign<T extends KubeObject>(
    kind: Kind<T>,
    child: { readonly present: Stored<T>; readonly desired: T; readonly owner: Owner },
  ): void {
    refuseForeign(kind, child, this.#options.marks);
  }

  /**
   * Makes the child equal to `desired` in every field that it names, with `owner` as its controller; in another
   * namespace with the owner's uid as an annotation. Throws `NotOursError` when the name is taken.
   */
  async apply<T extends KubeObject>(
    kind: Kind<T>,
    desired: T,
    owner: Owner,
    { resourceVersion, leaveHandedOver = false }: ApplyOptions = {},
  ): Promise<Stored<T>> {
    const child = { kind, desired: marked(desired, owner, this.#options.marks), owner, resourceVersion };
    let present = this.#options.caches.of(kind).get(keyOfObject(desired));
    // The caller may know more than the cache, which lags behind and has only objects with our label.
    if (resourceVersion && present?.metadata.resourceVersion !== resourceVersion)
      present = await find(this.#client, kind, refOf(desired));
    for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
      if (resourceVersion && present?.metadata.resourceVersion !== resourceVersion) break;
      if (leaveHandedOver && present && this.#standing(present, owner) === "handedOver") return present;
      const result = present ? await this.#converge(child, present) : await this.#make(child, attempt);
      if (result) return result;
      present = await find(this.#client, kind, refOf(desired));
    }
    const message = `apply ${kind.kind} "${keyOfObject(desired)}": somebody else changed it meanwhile`;
    throw new ApiError(message, { reason: "Conflict", code: 409 });
  }

  /**
   * Makes a child that must not exist yet; rejects with `AlreadyExists`, or `NotOursError`, when it does. One that
   * outlives its owner has no reference to it, so that nothing collects it: its labels alone say whose it is.
   */
  async create<T extends KubeObject>(
    kind: Kind<T>,
    desired: T,
    { outlives = false, ...owner }: Owner & { readonly outlives?: boolean },
  ): Promise<Stored<T>> {
    const child = outlives ? desired : marked(desired, owner, this.#options.marks);
    const made = await this.#make({ kind, desired: child, owner }, 1);
    if (made) return made;
    const present = await find(this.#client, kind, refOf(desired));
    if (present) refuseForeign(kind, { present, desired, owner }, this.#options.marks);
    const message = `create ${kind.kind} "${keyOfObject(desired)}": it exists already`;
    throw new ApiError(message, { reason: "AlreadyExists", code: 409 });
  }

  /**
   * Makes `desired` the only children of a kind that `owner` controls: applies them, at the same time, and then
   * deletes the others. The kind must be one that its controller `owns`.
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
   * What the API server would make of a child of the owner's by `apply`, without storing it. Resolves with `undefined`
   * when there is no such child, and without a request when the apply would be skipped.
   */
  async preview<T extends KubeObject>(
    kind: Kind<T>,
    desired: T,
    owner: Owner,
  ): Promise<Stored<T> | undefined> {
    const { caches, marks, dryRun } = this.#options;
    const present = caches.of(kind).get(keyOfObject(desired));
    if (!present || !this.owns(present, owner)) return undefined;
    const child = marked(desired, owner, marks);
    if (wasAppliedLast(present, child, marks) && this.#isUnchanged(present, child)) return undefined;
    return dryRun.apply(kind, on(child, { uid: present.metadata.uid }));
  }

  /** Changes what no apply can, in exactly this version of a child; nothing in an object that is not the owner's. */
  async patch<T extends KubeObject>(
    kind: Kind<T>,
    present: Stored<T>,
    { owner, patch }: { owner: Owner; patch: { metadata?: object; readonly [field: string]: unknown } },
  ): Promise<void> {
    if (!this.owns(present, owner)) return;
    const metadata = { ...patch.metadata, ...versionOf(present) };
    await this.#client.mergePatch(kind, refOf(present), { ...patch, metadata });
  }

  /** Drops the owner's reference, so that the object outlives it. */
  async release<T extends KubeObject>(kind: Kind<T>, present: Stored<T>, owner: Owner): Promise<void> {
    const { ownerReferences = [] } = present.metadata;
    const others = ownerReferences.filter(({ uid }) => uid !== owner.object.metadata.uid);
    if (others.length === ownerReferences.length) return;
    await this.patch(kind, present, { owner, patch: { metadata: { ownerReferences: others } } });
  }

  /** Deletes exactly this incarnation of a child, unless its deletion is already under way or it is not ours. */
  async remove<T extends KubeObject>(kind: Kind<T>, present: Stored<T>, owner: Owner): Promise<void> {
    if (present.metadata.deletionTimestamp || !this.owns(present, owner)) return;
    // The version too: somebody may have taken it back since the cache saw it.
    await this.#client.delete(kind, refOf(present), versionOf(present));
  }

  /** Resolves with `undefined` when an object that is not ours has the name. */
  async #make<T extends KubeObject>(
    { kind, desired }: Child<T>,
    attempt: number,
  ): Promise<Stored<T> | undefined> {
    try {
      // A server that would not make an object with a version still makes one by POST.
      if (attempt > 1) return await this.#client.create(kind, desired);
      return await this.#client.apply(kind, on(desired, { resourceVersion: NEVER }));
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  /** Whether nobody has changed a field of a child since `applied`, which is what was applied last. */
  #isUnchanged(present: Stored<KubeObject>, applied: KubeObject): boolean {
    if (this.#unchanged.has(present)) return true;
    const isUnchanged = ownsAll(present, applied, this.#options.fieldManager);
    if (isUnchanged) this.#unchanged.add(present);
    return isUnchanged;
  }

  /** Resolves with `undefined` when the object is not what it was taken for. */
  async #converge<T extends KubeObject>(child: Child<T>, seen: Stored<T>): Promise<Stored<T> | undefined> {
    const { kind, desired, owner, resourceVersion } = child;
    const standing = refuseForeign(kind, { present: seen, desired, owner }, this.#options.marks);
    const isAdopted = standing === "ours" && !hasUpdatedFields(seen, this.#options.fieldManager);
    const isLast = wasAppliedLast(seen, desired, this.#options.marks);
    if (isAdopted && isLast && this.#isUnchanged(seen, desired)) return seen;
    try {
      if (isAdopted) {
        const condition = { uid: seen.metadata.uid, ...(resourceVersion && { resourceVersion }) };
        const applied = await this.#client.apply(kind, on(desired, condition));
        if (isLast) this.#options.onReverted?.(owner, applied);
        return applied;
      }
      const present = await this.#adopt(child);
      return present && (await this.#client.apply(kind, on(desired, versionOf(present))));
    } catch (error) {
      if (isConflict(error) || (await this.#isAnother(child, seen, error))) return undefined;
      if (error instanceof ApiError && (await this.#takeExclusive(child, error))) return undefined;
      throw error;
    }
  }

  /**
   * Where the API server rejects fields, takes over what others have set beside ours: an environment variable that got
   * `valueFrom` from a person can't have our `value` too. Resolves with whether there was anything to take.
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

  /** Hands fields over to our apply, in an object that still is for the owner to take. */
  async #adopt<T extends KubeObject>(child: Child<T>): Promise<Stored<T> | undefined> {
    const { kind, desired, owner } = child;
    const present = await find(this.#client, kind, refOf(desired));
    const wanted = child.resourceVersion ?? present?.metadata.resourceVersion;
    if (!present || present.metadata.resourceVersion !== wanted) return undefined;
    const standing = refuseForeign(kind, { present, desired, owner }, this.#options.marks);
    if (standing === "earlier") await this.#refuseLater(kind, present, owner);
    const takesOver = standing === "ours" ? {} : { takesOver: { controllerUid: controllerOf(present)?.uid } };
    const { managedFields } = present.metadata;
    const adopted = adoptFields(managedFields, { manager: this.#options.fieldManager, ...takesOver });
    return adopted ? this.#giveFields(kind, present, adopted) : present;
  }

  /** Changes no field, but to whom each belongs. */
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

  /** To a run that lags behind, the child of a later object looks like one of an earlier. */
  async #refuseLater(kind: Kind, present: Stored<KubeObject>, owner: Owner): Promise<void> {
    if (await findSame(this.#client, owner.kind, owner.object)) return;
    const holder = `a later ${owner.kind.kind} "${owner.object.metadata.name}"`;
    throw new NotOursError([{ kind, ref: refOf(present), holder }]);
  }

  /** The API server calls it invalid to apply to another incarnation, or to give an object a second controller. */
  async #isAnother<T extends KubeObject>(
    { kind, desired, owner }: Child<T>,
    seen: Stored<T>,
    error: unknown,
  ): Promise<boolean> {
    if (!(error instanceof ApiError && error.reason === "Invalid")) return false;
    const present = await find(this.#client, kind, refOf(desired));
    return present?.metadata.uid !== seen.metadata.uid || !this.owns(present, owner);
  }

  #standing(present: Stored<KubeObject>, owner: Owner): Standing["is"] {
    return standingOf(present, owner, this.#options.marks).is;
  }
}

function versionOf({ metadata: { uid, resourceVersion } }: Stored<KubeObject>) {
  return { uid, resourceVersion };
}
