import { isDeepStrictEqual } from "node:util";
import { type KubeObject, keyOfObject, type ObjectKey, type Stored } from "../object.ts";
import type { WatcherEvent } from "../watch/watcher.ts";
import { HeldChanges } from "./held-changes.ts";
import { Indexes, type IndexFunctions, type StoreFault } from "./indexes.ts";
import { isExplainedBy, type Sent } from "./own-write.ts";

/** An object before and after a change. */
export interface Change<T extends KubeObject> {
  readonly type: "added" | "updated" | "deleted";
  readonly object: Stored<T>;
  readonly previous: Stored<T> | undefined;
  /** This process made the change, and it contains no change of others. */
  readonly ownWrite: boolean;
  /** A (re)list found the change, not a live watch, so it is not known to be urgent. */
  readonly fromList: boolean;
}

/** The read interface for reconciles. Objects are shared, frozen, and replaced rather than changed. */
export interface StoreReader<T extends KubeObject> {
  get(key: ObjectKey): Stored<T> | undefined;
  all(): Iterable<Stored<T>>;
  /** The objects under `value` in the named index. */
  byIndex(index: string, value: string): Stored<T>[];
  readonly size: number;
}

export interface StoreOptions<T extends KubeObject> {
  readonly indexes?: IndexFunctions<T>;
  /** Drops unused parts of an object before it is stored. Must not change its argument. */
  readonly transform?: (object: Stored<T>) => Stored<T>;
  readonly onChange?: (change: Change<T>) => void;
  /**
   * Called if an index function or the transform throws: the object is stored without that index, or
   * untransformed.
   */
  readonly onFault?: (fault: StoreFault) => void;
}

/** The last write of this process to an object, until the watch reports it. */
interface OwnWrite {
  /** Older versions are ignored. */
  readonly version: number;
  /** The UID of the object, if this process deleted it. */
  readonly deletedUid?: string;
}

/**
 * The objects of one watch, plus this process's writes that the watch has not reported yet, so that a reader
 * never sees an object older than the last own write. A relist replaces everything in one step: readers see
 * the old or the new state, never a mixture.
 *
 * Versions are compared as numbers, which Kubernetes guarantees for built-in and custom resources.
 */
export class Store<T extends KubeObject> implements StoreReader<T> {
  readonly #options: StoreOptions<T>;
  readonly #indexes: Indexes<T>;
  readonly #objects = new Map<ObjectKey, Stored<T>>();
  readonly #ownWrites = new Map<ObjectKey, OwnWrite>();
  readonly #held = new HeldChanges<Change<T>>();
  #staged: Map<ObjectKey, Stored<T>> | undefined;
  /** Changes of a relist in progress, reported once it is complete. */
  #unreported: Change<T>[] | undefined;
  #version = 0;

  constructor(options: StoreOptions<T> = {}) {
    this.#options = options;
    this.#indexes = new Indexes(options.indexes ?? {}, (fault) => options.onFault?.(fault));
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): Stored<T> | undefined {
    return this.#objects.get(key);
  }

  all(): Iterable<Stored<T>> {
    return this.#objects.values();
  }

  byIndex(index: string, value: string): Stored<T>[] {
    return [...this.#indexes.keys(index, value)].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Handles one event of the watcher that feeds this store. */
  handle(event: WatcherEvent<T>): void {
    switch (event.type) {
      case "init":
        this.#staged = new Map();
        break;
      case "initApply":
        this.#staged?.set(keyOfObject(event.object), this.#slim(event.object));
        break;
      case "initDelete":
        this.#staged?.delete(keyOfObject(event.object));
        break;
      case "initDone":
        this.#swap(Number(event.resourceVersion));
        break;
      case "apply":
        this.#version = versionOf(event.object);
        this.#applySeen(keyOfObject(event.object), this.#slim(event.object), false);
        this.#dropUnselected();
        break;
      case "delete":
        this.#version = versionOf(event.object);
        this.#deleteSeen(keyOfObject(event.object), false);
        this.#dropUnselected();
        break;
      case "progress":
        this.#version = Number(event.resourceVersion);
        this.#dropUnselected();
        break;
    }
  }

  /** Before an own write is sent: its changes are reported only after `endWrite`, because they may be its own. */
  beginWrite(key: ObjectKey): void {
    this.#held.begin(key);
  }

  /** After its result was passed to `remember` or `forget`, or it failed. */
  endWrite(key: ObjectKey): void {
    for (const change of this.#held.end(key)) this.#options.onChange?.(change);
  }

  /**
   * Shows the result of an own write to readers immediately. Ignored if the store already has a newer
   * version. A difference that `sent` does not explain is a change of another client, which the watch would
   * report too late.
   */
  remember(written: Stored<T>, sent: Sent): void {
    const version = versionOf(written);
    const key = keyOfObject(written);
    const managers = written.metadata.managedFields?.length ?? 0;
    this.#held.claim(key, ({ type, previous: before, object: after }) => {
      const isResult = type !== "deleted" && versionOf(after) === version;
      return isResult && isExplainedBy(sent, { before, after, managers });
    });
    if (!(version > this.#version) || this.#isPast(key, written)) return;
    this.#ownWrites.set(key, { version });
    const object = this.#slim(written);
    const before = this.#objects.get(key);
    const ownWrite = isExplainedBy(sent, { before, after: object, managers });
    this.#put(key, object, { ownWrite, fromList: false });
  }

  /** Hides an object that this process deleted, until the watch reports the deletion. */
  forget(key: ObjectKey, uid: string): void {
    this.#held.claim(key, ({ type, object }) => type === "deleted" && object.metadata.uid === uid);
    const object = this.#objects.get(key);
    if (object?.metadata.uid !== uid) return;
    this.#ownWrites.set(key, { version: versionOf(object), deletedUid: uid });
    this.#drop(key, { ownWrite: true, fromList: false });
  }

  /** Removes all objects, because the server no longer has them. */
  clear(): void {
    this.#staged = new Map();
    this.#swap(this.#version);
  }

  #slim(object: Stored<T>): Stored<T> {
    try {
      return deepFreeze(this.#options.transform?.(object) ?? object);
    } catch (error) {
      this.#options.onFault?.({ what: "transform", key: keyOfObject(object), error });
      return deepFreeze(object);
    }
  }

  #swap(version: number): void {
    const staged = this.#staged ?? new Map<ObjectKey, Stored<T>>();
    this.#staged = undefined;
    // A server that was restored from a backup continues at an older version: writes since then are lost.
    const isRewound = version < this.#version;
    if (isRewound) this.#ownWrites.clear();
    this.#version = version;
    const changes: Change<T>[] = [];
    this.#unreported = changes;
    for (const key of new Set([...this.#objects.keys(), ...this.#ownWrites.keys()])) {
      if (!staged.has(key)) this.#deleteSeen(key, true);
    }
    for (const [key, object] of staged) {
      // Versions are reused after a restore, so an equal version may have different content.
      if (isRewound && !isDeepStrictEqual(this.#objects.get(key), object)) this.#deleteSeen(key, true);
      this.#applySeen(key, object, true);
    }
    this.#unreported = undefined;
    for (const change of changes) this.#report(change);
  }

  #applySeen(key: ObjectKey, object: Stored<T>, fromList: boolean): void {
    if (this.#isPast(key, object)) return;
    this.#ownWrites.delete(key);
    this.#put(key, object, { ownWrite: false, fromList });
  }

  #deleteSeen(key: ObjectKey, fromList: boolean): void {
    const own = this.#ownWrites.get(key);
    if (own && own.version > this.#version) return;
    this.#ownWrites.delete(key);
    this.#drop(key, { ownWrite: false, fromList });
  }

  /** Whether this state of an object is older than this process's last write. */
  #isPast(key: ObjectKey, object: Stored<T>): boolean {
    const own = this.#ownWrites.get(key);
    return own !== undefined && (own.version > versionOf(object) || own.deletedUid === object.metadata.uid);
  }

  /**
   * Drops own writes that the watch has passed without reporting them: the selection does not include them.
   */
  #dropUnselected(): void {
    for (const [key, { version, deletedUid }] of this.#ownWrites) {
      if (deletedUid === undefined && version <= this.#version) this.#deleteSeen(key, false);
    }
  }

  #put(key: ObjectKey, object: Stored<T>, origin: { ownWrite: boolean; fromList: boolean }): void {
    const previous = this.#objects.get(key);
    if (previous?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#objects.set(key, object);
    this.#indexes.update(key, previous, object);
    this.#report({ type: previous ? "updated" : "added", object, previous, ...origin });
  }

  #drop(key: ObjectKey, origin: { ownWrite: boolean; fromList: boolean }): void {
    const previous = this.#objects.get(key);
    if (!previous) return;
    this.#objects.delete(key);
    this.#indexes.update(key, previous, undefined);
    this.#report({ type: "deleted", object: previous, previous, ...origin });
  }

  #report(change: Change<T>): void {
    if (this.#unreported) this.#unreported.push(change);
    else if (!this.#held.hold(change)) this.#options.onChange?.(change);
  }
}

function versionOf(object: Stored<KubeObject>): number {
  return Number(object.metadata.resourceVersion);
}

/**
 * Deeply freezes JSON data, so that a reader that changes shared data fails immediately. Frozen data is not
 * visited again.
 */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const name in value) deepFreeze(value[name]);
  return value;
}
