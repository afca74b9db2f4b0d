import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ConfigMap } from "../kinds.ts";
import { keyOfObject, type ObjectKey, type Stored } from "../object.ts";
import type { WatcherEvent } from "../watch/watcher.ts";
import type { Sent } from "./own-write.ts";
import { type Change, Store } from "./store.ts";

type Step =
  | {
      readonly do: "otherWrites" | "otherDeletes" | "weWrite" | "weRepeat" | "weDelete";
      readonly name: string;
    }
  | { readonly do: "answerArrives"; readonly which: number }
  | { readonly do: "watchReports" | "bookmark" | "listStarts" | "listEnds" };

const name = fc.constantFrom("a", "b");
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("otherWrites", "otherDeletes", "weWrite", "weRepeat", "weDelete"),
      name,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("answerArrives"), which: fc.nat({ max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("watchReports") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("bookmark", "listStarts", "listEnds") }) },
);

/**
 * A server whose history is reported late, responses that arrive in any order, and the store between them.
 */
class World {
  readonly objects = new Map<ObjectKey, Stored<ConfigMap>>();
  readonly store: Store<ConfigMap>;
  /** The state as known to a reader of changes only. */
  readonly heard = new Map<ObjectKey, Stored<ConfigMap>>();
  /** The writes of others, as known to a reader that ignores own writes. */
  readonly theirs = new Map<ObjectKey, string | undefined>();
  readonly #history: WatcherEvent<ConfigMap>[] = [];
  readonly #answers: (() => void)[] = [];
  readonly #gone = new Set<string>();
  readonly #newest = new Map<ObjectKey, number>();
  #list: { readonly version: number } | undefined;
  #version = 0;
  #uids = 0;

  constructor() {
    this.store = new Store<ConfigMap>({
      indexes: { uid: ({ metadata }) => [metadata.uid] },
      onChange: (change) => this.#hear(change),
    });
  }

  take(step: Step): void {
    if ("name" in step) this.#write(step.do, step.name);
    else if (step.do === "answerArrives") this.#answers.splice(step.which, 1)[0]?.();
    else if (step.do === "listStarts") this.#startList();
    else if (step.do === "listEnds") this.#endList();
    else if (!this.#list) this.#report(step.do);
  }

  /** Delivers everything that is in transit. */
  settle(): void {
    for (const arrive of this.#answers.splice(0)) arrive();
    this.#endList();
    while (this.#history.length > 0) this.#report("watchReports");
  }

  #write(what: string, name: string): void {
    const key = `n/${name}`;
    const before = this.store.get(key)?.metadata.uid;
    if (what === "otherWrites") this.#put(name, { theirs: `${this.#version}` });
    else if (what === "otherDeletes") this.#remove(key);
    else if (what === "weDelete" && this.objects.has(key)) {
      this.store.beginWrite(key);
      this.#remove(key);
      this.#answers.push(() => this.#deleted(key, before));
    } else if (what === "weWrite") this.#weWrite(name, { ours: `${this.#version}` });
    else if (what === "weRepeat") this.#weWrite(name, { ours: this.objects.get(key)?.data?.ours ?? "1" });
  }

  #weWrite(name: string, data: Record<string, string>): void {
    const sent: Sent = this.objects.has(`n/${name}`) ? { by: "fields", fields: { data } } : { by: "create" };
    this.store.beginWrite(`n/${name}`);
    const written = this.#put(name, data);
    this.#answers.push(() => this.#written(written, sent));
  }

  /** A write without changes keeps the version, like the API server. */
  #put(name: string, change: Record<string, string>): Stored<ConfigMap> {
    const present = this.objects.get(`n/${name}`);
    const data = { ...present?.data, ...change };
    if (present && isDeepStrictEqual(present.data, data)) return present;
    const uid = present?.metadata.uid ?? `uid-${this.#uids++}`;
    const resourceVersion = String(++this.#version);
    const object: Stored<ConfigMap> = { metadata: { namespace: "n", name, uid, resourceVersion }, data };
    this.objects.set(`n/${name}`, object);
    this.#history.push({ type: "apply", object });
    return object;
  }

  #remove(key: ObjectKey): Stored<ConfigMap> | undefined {
    const object = this.objects.get(key);
    if (!object || !this.objects.delete(key)) return undefined;
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    this.#history.push({ type: "delete", object: { ...object, metadata } });
    return object;
  }

  #written(object: Stored<ConfigMap>, sent: Sent): void {
    this.store.remember(object, sent);
    this.store.endWrite(keyOfObject(object));
    this.#mustNotBeOlderThan(keyOfObject(object), versionOf(object));
  }

  #deleted(key: ObjectKey, before: string | undefined): void {
    if (before !== undefined) this.store.forget(key, before);
    this.store.endWrite(key);
    if (before === undefined) return;
    this.#gone.add(before);
    expect(this.store.get(key)?.metadata.uid).not.toBe(before);
  }

  #report(what: "watchReports" | "bookmark"): void {
    const event = what === "watchReports" ? this.#history.shift() : undefined;
    if (event) this.store.handle(event);
    else if (this.#history.length === 0) {
      this.store.handle({ type: "progress", resourceVersion: String(this.#version) });
    }
  }

  #startList(): void {
    this.#list = { version: this.#version };
    this.store.handle({ type: "init" });
    for (const object of this.objects.values()) this.store.handle({ type: "initApply", object });
  }

  #endList(): void {
    if (!this.#list) return;
    const { version } = this.#list;
    this.#list = undefined;
    while (this.#history.length > 0 && eventVersion(this.#history[0]) <= version) this.#history.shift();
    this.store.handle({ type: "initDone", resourceVersion: String(version) });
  }

  #hear({ type, object, previous, ownWrite }: Change<ConfigMap>): void {
    const key = keyOfObject(object);
    if (type === "deleted") this.theirs.delete(key);
    else if (!ownWrite) this.theirs.set(key, object.data?.theirs);
    expect(previous).toBe(this.heard.get(key));
    expect(type).toBe(type === "deleted" ? "deleted" : previous ? "updated" : "added");
    if (type === "deleted") {
      this.heard.delete(key);
      return;
    }
    expect(this.#gone.has(object.metadata.uid)).toBe(false);
    this.#mustNotBeOlderThan(key, this.#newest.get(key) ?? 0);
    this.#newest.set(key, versionOf(object));
    this.heard.set(key, object);
  }

  /** If the object exists, it has this version or a later one. */
  #mustNotBeOlderThan(key: ObjectKey, version: number): void {
    const object = this.store.get(key);
    if (object) expect(versionOf(object)).toBeGreaterThanOrEqual(version);
    else expect(this.objects.get(key)?.metadata.resourceVersion).not.toBe(String(version));
  }
}

function versionOf({ metadata }: Stored<ConfigMap>): number {
  return Number(metadata.resourceVersion);
}

function eventVersion(event: WatcherEvent<ConfigMap> | undefined): number {
  return event && "object" in event ? versionOf(event.object) : Number.POSITIVE_INFINITY;
}

test("in any order of events, no reader sees an object older than its last read or our last write, misses another client's write, or ends with outdated state", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const world = new World();
      for (const each of steps) world.take(each);
      world.settle();
      expect(new Map([...world.store.all()].map((object) => [keyOfObject(object), object]))).toEqual(
        world.objects,
      );
      expect(world.heard).toEqual(world.objects);
      for (const [key, object] of world.objects) {
        expect(world.theirs.get(key)).toBe(object.data?.theirs);
        expect(world.store.byIndex("uid", object.metadata.uid)).toEqual([object]);
      }
      expect(world.store.size).toBe(world.objects.size);
    }),
    { numRuns: 1_000 },
  );
});
