import type { KubeObject, ObjectKey, ObjectMeta } from "../../src/object.ts";
import { keyOfObject } from "../../src/object.ts";

/** A stored object: any fields, with UID and version. */
export interface FakeObject extends KubeObject {
  metadata: ObjectMeta & { name: string; uid: string; resourceVersion: string };
  [field: string]: unknown;
}

/** One write: `before` is absent for a create, `after` for a delete. */
export interface StorageEvent {
  readonly resource: string;
  readonly version: number;
  readonly before: FakeObject | undefined;
  readonly after: FakeObject | undefined;
}

/** A real API server has already written many objects of its own, so versions start high. */
const FIRST_VERSION = 1_000;

/**
 * The equivalent of etcd: objects, one increasing version for all of them, and the history of writes since
 * the last compaction. Objects are replaced, never changed.
 */
export class Storage {
  readonly #objects = new Map<string, Map<ObjectKey, FakeObject>>();
  readonly #listeners = new Set<(event: StorageEvent) => void>();
  #history: StorageEvent[] = [];
  #version = FIRST_VERSION;
  #oldestVersion = FIRST_VERSION;

  get version(): number {
    return this.#version;
  }

  /** Watches can start at this version or later. */
  get oldestVersion(): number {
    return this.#oldestVersion;
  }

  get(resource: string, key: ObjectKey): FakeObject | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  /** All objects of a resource, in the order in which a real API server lists them. */
  all(resource: string): FakeObject[] {
    const objects = [...(this.#objects.get(resource)?.entries() ?? [])];
    return objects.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** Stores a new or changed object with the next version. */
  put(resource: string, object: FakeObject): FakeObject {
    const version = ++this.#version;
    const after = withVersion(object, version);
    const key = keyOfObject(after);
    const objects = this.#objects.get(resource) ?? new Map<ObjectKey, FakeObject>();
    const before = objects.get(key);
    this.#objects.set(resource, objects.set(key, after));
    this.#record({ resource, version, before, after });
    return after;
  }

  remove(resource: string, key: ObjectKey): void {
    const before = this.get(resource, key);
    if (!before) return;
    this.#objects.get(resource)?.delete(key);
    this.#record({ resource, version: ++this.#version, before, after: undefined });
  }

  /** The writes after a version, oldest first. */
  since(version: number): StorageEvent[] {
    return this.#history.filter((event) => event.version > version);
  }

  /** Drops all history: a watch from an earlier version must relist. */
  compact(): void {
    this.#history = [];
    // The current version is dropped too, otherwise an idle watcher would not notice.
    this.#oldestVersion = ++this.#version;
  }

  /** Saves the current state; the returned function restores it, including the version. */
  backUp(): () => void {
    const objects = new Map([...this.#objects].map(([resource, all]) => [resource, new Map(all)]));
    const [version, history] = [this.#version, this.#history];
    return () => {
      this.#objects.clear();
      for (const [resource, all] of objects) this.#objects.set(resource, all);
      [this.#version, this.#history] = [version, [...history]];
    };
  }

  /** An independent storage with the same objects. */
  copy(): Storage {
    const copy = new Storage();
    for (const [resource, all] of this.#objects) copy.#objects.set(resource, new Map(all));
    copy.#version = this.#version;
    return copy;
  }

  /** Calls `listener` for every further write; the returned function stops that. */
  listen(listener: (event: StorageEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #record(event: StorageEvent): void {
    this.#history.push(event);
    for (const listener of [...this.#listeners]) listener(event);
  }
}

export function withVersion(object: FakeObject, version: number): FakeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}
