import { describe, expect, test } from "vitest";
import type { ConfigMap } from "../kinds.ts";
import type { Stored } from "../object.ts";
import type { WatcherEvent } from "../watch/watcher.ts";
import type { StoreFault } from "./indexes.ts";
import { type Change, Store } from "./store.ts";

const OURS = { by: "create" } as const;

function object(
  version: number,
  options: { name?: string; uid?: string; team?: string } = {},
): Stored<ConfigMap> {
  const { name = "a", uid = name, team = "red" } = options;
  return { metadata: { namespace: "n", name, uid, resourceVersion: String(version) }, data: { team } };
}

function newStore() {
  const changes: string[] = [];
  const describeChange = ({ type, object, ownWrite, fromList }: Change<ConfigMap>) => {
    const origin = ownWrite ? "we" : fromList ? "list" : "watch";
    changes.push(`${origin} ${type} ${object.metadata.name}@${object.metadata.resourceVersion}`);
  };
  const store = new Store<ConfigMap>({
    indexes: { team: ({ data }) => (data?.team ? [data.team] : []) },
    onChange: describeChange,
  });
  const feed = (...events: WatcherEvent<ConfigMap>[]) => {
    for (const event of events) store.handle(event);
  };
  const list = (version: number, ...objects: Stored<ConfigMap>[]) =>
    feed({ type: "init" }, ...objects.map((each) => ({ type: "initApply", object: each }) as const), {
      type: "initDone",
      resourceVersion: String(version),
    });
  const seen = () => [...store.all()].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
  return { store, changes, feed, list, seen };
}

describe("a relist", () => {
  test("is seen as a whole: readers keep the old state until it is complete", () => {
    const { list, feed, seen, changes } = newStore();
    list(10, object(1), object(2, { name: "b" }));
    feed({ type: "init" }, { type: "initApply", object: object(11) });
    expect(seen()).toEqual(["a@1", "b@2"]);
    feed({ type: "initDone", resourceVersion: "12" });
    expect(seen()).toEqual(["a@11"]);
    expect(changes.slice(2)).toEqual(["list deleted b@2", "list updated a@11"]);
  });

  test("is complete before any handler is called", () => {
    const sizes: number[] = [];
    const store = new Store<ConfigMap>({ onChange: () => sizes.push(store.size) });
    for (const each of [object(1), object(2, { name: "b" })]) store.handle({ type: "apply", object: each });
    store.handle({ type: "init" });
    for (const each of ["c", "d", "e"])
      store.handle({ type: "initApply", object: object(3, { name: each }) });
    store.handle({ type: "initDone", resourceVersion: "4" });
    expect(sizes).toEqual([1, 2, 3, 3, 3, 3, 3]);
  });

  test("that never completes changes nothing, and the next one starts from nothing", () => {
    const { list, feed, seen } = newStore();
    list(10, object(1));
    feed({ type: "init" }, { type: "initApply", object: object(11, { name: "b" }) });
    list(12, object(1));
    expect(seen()).toEqual(["a@1"]);
  });

  test("that finds nothing new reports nothing", () => {
    const { list, changes } = newStore();
    list(10, object(1));
    list(20, object(1));
    expect(changes).toEqual(["list added a@1"]);
  });

  test("does not hold what was deleted while it was on its way", () => {
    const { feed, seen } = newStore();
    feed(
      { type: "init" },
      { type: "initApply", object: object(1) },
      { type: "initDelete", object: object(2) },
    );
    feed({ type: "initDone", resourceVersion: "3" });
    expect(seen()).toEqual([]);
  });
});

describe("an own write", () => {
  test("is seen at once and reported once, although the watch reports it too", () => {
    const { store, list, feed, seen, changes } = newStore();
    list(10);
    store.remember(object(11), OURS);
    expect(seen()).toEqual(["a@11"]);
    feed({ type: "apply", object: object(11) });
    expect(changes).toEqual(["we added a@11"]);
  });

  test("is not hidden by older news", () => {
    const { store, list, feed, seen } = newStore();
    list(10, object(5));
    store.remember(object(13), OURS);
    feed({ type: "apply", object: object(12) });
    expect(seen()).toEqual(["a@13"]);
    list(12, object(12));
    expect(seen()).toEqual(["a@13"]);
    list(12);
    expect(seen()).toEqual(["a@13"]);
    feed({ type: "apply", object: object(14) });
    expect(seen()).toEqual(["a@14"]);
  });

  test("whose response arrives after that of a later one is ignored", () => {
    const { store, list, seen } = newStore();
    list(10);
    store.remember(object(12), OURS);
    store.remember(object(11), OURS);
    expect(seen()).toEqual(["a@12"]);
  });

  test("of an object that has been deleted does not restore it", () => {
    const { store, list, feed, seen } = newStore();
    list(10, object(5));
    feed({ type: "apply", object: object(11) }, { type: "delete", object: object(12) });
    store.remember(object(11), OURS);
    expect(seen()).toEqual([]);
    list(20);
    store.remember(object(19), OURS);
    expect(seen()).toEqual([]);
  });

  test("outside the selection is removed as soon as the watch has passed it", () => {
    const { store, list, feed, seen, changes } = newStore();
    list(10);
    store.remember(object(11), OURS);
    feed({ type: "progress", resourceVersion: "11" });
    expect(seen()).toEqual([]);
    expect(changes).toEqual(["we added a@11", "watch deleted a@11"]);
  });
});

describe("an own write that the watch reports before the response arrives", () => {
  const moved = { by: "fields", fields: { data: { team: "blue" } } } as const;

  test("is seen at once, and reported as an own write after the response", () => {
    const { store, list, feed, seen, changes } = newStore();
    list(10, object(5));
    store.beginWrite("n/a");
    feed({ type: "apply", object: object(11, { team: "blue" }) });
    expect([seen(), changes.slice(1)]).toEqual([["a@11"], []]);
    store.remember(object(11, { team: "blue" }), moved);
    store.endWrite("n/a");
    expect(changes.slice(1)).toEqual(["we updated a@11"]);
  });

  test("does not hide what another client changed before or after it", () => {
    const { store, list, feed, changes } = newStore();
    list(10, object(5));
    store.beginWrite("n/a");
    for (const [version, team] of [
      [11, "green"],
      [12, "blue"],
      [13, "black"],
    ] as const)
      feed({ type: "apply", object: object(version, { team }) });
    store.remember(object(12, { team: "blue" }), moved);
    store.endWrite("n/a");
    expect(changes.slice(1)).toEqual(["watch updated a@11", "we updated a@12", "watch updated a@13"]);
  });

  test("and that changed nothing itself leaves the change before it to its author", () => {
    const { store, list, feed, changes } = newStore();
    list(10, object(5));
    store.beginWrite("n/a");
    const { metadata, data } = object(11);
    const theirs = { metadata, data: { ...data, theirs: "new" } };
    feed({ type: "apply", object: theirs });
    store.remember(theirs, { by: "fields", fields: { data } });
    store.endWrite("n/a");
    expect(changes.slice(1)).toEqual(["watch updated a@11"]);
  });

  test("is reported as a change of another client if the write fails", () => {
    const { store, list, feed, changes } = newStore();
    list(10, object(5));
    store.beginWrite("n/a");
    feed({ type: "apply", object: object(11, { team: "blue" }) });
    store.endWrite("n/a");
    expect(changes.slice(1)).toEqual(["watch updated a@11"]);
  });

  test("is an own deletion", () => {
    const { store, list, feed, changes } = newStore();
    list(10, object(5));
    store.beginWrite("n/a");
    feed({ type: "delete", object: object(11) });
    store.forget("n/a", "a");
    store.endWrite("n/a");
    expect(changes.slice(1)).toEqual(["we deleted a@5"]);
  });

  test("delays no change of another object", () => {
    const { store, list, feed, changes } = newStore();
    list(10, object(5));
    store.beginWrite("n/a");
    feed({ type: "apply", object: object(11, { name: "b" }) });
    expect(changes.slice(1)).toEqual(["watch added b@11"]);
  });
});

describe("an own write whose response contains another client's change", () => {
  const moved = { by: "fields", fields: { data: { team: "blue" } } } as const;

  test("is reported as a change of another client, because the watch can't report it any more", () => {
    const { store, list, feed, changes } = newStore();
    list(10, object(5));
    const { metadata, data } = object(12, { team: "blue" });
    store.remember({ metadata, data: { ...data, theirs: "new" } }, moved);
    feed({ type: "apply", object: object(11) }, { type: "apply", object: object(12) });
    expect(changes).toEqual(["list added a@5", "watch updated a@12"]);
  });

  test("and changed nothing itself is reported as a change of another client", () => {
    const { store, list, changes } = newStore();
    list(10, object(5, { team: "blue" }));
    const { metadata, data } = object(11, { team: "blue" });
    store.remember({ metadata, data: { ...data, theirs: "new" } }, moved);
    expect(changes.at(-1)).toBe("watch updated a@11");
  });
});

test("after a restore of the server to an older version, a list replaces all that was known, own writes too", () => {
  const { store, list, feed, seen, changes } = newStore();
  list(100, object(90), object(95, { name: "b" }));
  store.remember(object(101, { name: "c" }), OURS);
  store.remember(object(102), OURS);
  list(50, object(40), object(95, { name: "b", team: "blue" }));
  expect(seen()).toEqual(["a@40", "b@95"]);
  expect(store.byIndex("team", "blue")).toHaveLength(1);
  feed({ type: "apply", object: object(51) });
  expect(seen()).toContain("a@51");
  expect(changes.at(-1)).toBe("watch updated a@51");
});

describe("a function that throws", () => {
  const fussy = (name: string) => (each: Stored<ConfigMap>) => {
    if (each.metadata.name === name) throw new Error("can't take it");
    return each;
  };

  test("as a transform costs its object no more than the transform", () => {
    const faults: StoreFault[] = [];
    const store = new Store<ConfigMap>({ transform: fussy("a"), onFault: (fault) => faults.push(fault) });
    for (const name of ["a", "b"]) store.handle({ type: "apply", object: object(1, { name }) });
    expect(store.size).toBe(2);
    expect(faults).toEqual([{ what: "transform", key: "n/a", error: new Error("can't take it") }]);
  });

  test("as an index leaves its object out of that index alone", () => {
    const faults: StoreFault[] = [];
    const store = new Store<ConfigMap>({
      indexes: { fussy: (each) => [fussy("a")(each).metadata.uid], uid: ({ metadata }) => [metadata.uid] },
      onFault: (fault) => faults.push(fault),
    });
    for (const name of ["a", "b"]) store.handle({ type: "apply", object: object(1, { name }) });
    expect([store.byIndex("uid", "a").length, store.byIndex("fussy", "b").length]).toEqual([1, 1]);
    store.handle({ type: "delete", object: object(2) });
    expect(faults).toEqual([{ what: 'index "fussy"', key: "n/a", error: new Error("can't take it") }]);
  });
});

test("an attempt to change a cached object fails at any depth, regardless of its source", () => {
  const { store, list, feed } = newStore();
  list(10, object(1));
  feed({ type: "apply", object: object(11, { name: "b" }) });
  store.remember(object(12, { name: "c" }), OURS);
  for (const each of store.all()) {
    expect(() => Object.assign(each, { data: {} })).toThrow(TypeError);
    expect(() => Object.assign(each.data ?? {}, { team: "blue" })).toThrow(TypeError);
    expect(() => Object.assign(each.metadata, { name: "x" })).toThrow(TypeError);
  }
});

describe("an own deletion", () => {
  test("is seen at once and reported once, although the watch reports it too", () => {
    const { store, list, feed, seen, changes } = newStore();
    list(10, object(5));
    store.forget("n/a", "a");
    expect(seen()).toEqual([]);
    feed({ type: "apply", object: object(11) }, { type: "apply", object: object(12) });
    expect(seen()).toEqual([]);
    feed({ type: "delete", object: object(13) });
    expect(changes).toEqual(["list added a@5", "we deleted a@5"]);
  });

  test("is not undone by the late answer to an earlier write, nor by an older list", () => {
    const { store, list, seen } = newStore();
    list(10, object(5));
    store.forget("n/a", "a");
    store.remember(object(11), OURS);
    list(11, object(11));
    expect(seen()).toEqual([]);
  });

  test("of another incarnation than the present one hides nothing", () => {
    const { store, list, seen } = newStore();
    list(10, object(5, { uid: "second" }));
    store.forget("n/a", "first");
    expect(seen()).toEqual(["a@5"]);
  });

  test("is replaced by a new object of the same name, regardless of its creator", () => {
    const { store, list, feed, seen } = newStore();
    list(10, object(5, { uid: "first" }));
    store.forget("n/a", "first");
    store.remember(object(13, { uid: "second" }), OURS);
    feed({ type: "delete", object: object(12, { uid: "first" }) });
    expect(seen()).toEqual(["a@13"]);
    store.forget("n/a", "second");
    list(20, object(19, { uid: "third" }));
    expect(seen()).toEqual(["a@19"]);
  });

  test("of two incarnations in a row shows neither while the watch catches up", () => {
    const { store, list, feed, seen } = newStore();
    list(10, object(5, { uid: "first" }));
    store.forget("n/a", "first");
    store.remember(object(13, { uid: "second" }), OURS);
    store.forget("n/a", "second");
    for (const event of [
      { type: "apply", object: object(11, { uid: "first" }) },
      { type: "delete", object: object(12, { uid: "first" }) },
      { type: "apply", object: object(13, { uid: "second" }) },
      { type: "delete", object: object(14, { uid: "second" }) },
    ] as const) {
      feed(event);
      expect(seen()).toEqual([]);
    }
  });
});

test("what the watch reports is passed on, with the object as it was before", () => {
  const previous: (string | undefined)[] = [];
  const store = new Store<ConfigMap>({
    onChange: (change) => previous.push(change.previous?.metadata.resourceVersion),
  });
  store.handle({ type: "apply", object: object(1) });
  store.handle({ type: "apply", object: object(2) });
  store.handle({ type: "delete", object: object(3) });
  expect(previous).toEqual([undefined, "1", "2"]);
});

test("an index finds an object under its present values alone", () => {
  const { store, feed, list } = newStore();
  list(10, object(1), object(2, { name: "b" }));
  const found = (team: string) => store.byIndex("team", team).map(({ metadata }) => metadata.name);
  expect(found("red")).toEqual(["a", "b"]);
  feed({ type: "apply", object: object(11, { team: "blue" }) });
  expect([found("red"), found("blue")]).toEqual([["b"], ["a"]]);
  list(20, object(12, { name: "b", team: "" }));
  expect([found("red"), found("blue"), store.size]).toEqual([[], [], 1]);
  expect(() => store.byIndex("size", "1")).toThrow('there is no index "size"');
});

test("objects are kept as the transform leaves them", () => {
  const store = new Store<ConfigMap>({ transform: ({ data: _, ...rest }) => rest });
  store.handle({ type: "apply", object: object(1) });
  store.remember(object(2, { name: "b" }), OURS);
  expect([...store.all()].map((each) => each.data)).toEqual([undefined, undefined]);
});
