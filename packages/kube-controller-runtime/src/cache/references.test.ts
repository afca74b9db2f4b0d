import { describe, expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import { answers, type Fault, FaultyTransport, offline, when } from "../../testing/faulty-transport.ts";
import { silentLog } from "../../testing/stub-client.ts";
import { HttpClient } from "../client/http-client.ts";
import type { TransportRequest } from "../client/transport.ts";
import { Secret } from "../kinds.ts";
import { References } from "./references.ts";

const ref = (name: string, namespace = "n") => ({ namespace, name });
const fieldSelector = (path: string) => new URL(path, "http://api").searchParams.get("fieldSelector");
const isFetch = ({ path }: TransportRequest) => !path.includes("watch=true") && !path.includes("limit=");

interface SetUp {
  namespaces?: readonly string[];
  keptBytes?: number;
}

function setUp({ namespaces = [], keptBytes }: SetUp = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  const transport = new FaultyTransport(api);
  const client = new HttpClient({ transport, clock, fieldManager: "test", userAgent: "test" });
  const notified: string[] = [];
  const environment = { client, clock, random: () => 0.5, log: silentLog, namespaces };
  const shared = new References(Secret, environment, keptBytes);
  const references = shared.heldBy((holder) => notified.push(holder));
  onTestFinished(() => shared.stop());
  const other = api.client();
  const write = (name: string, value: string, namespace = "n") =>
    other.apply(Secret, { metadata: { namespace, name }, stringData: { value } });
  const remove = (name: string) => other.delete(Secret, ref(name));
  const read = async (name: string) => (await references.get(ref(name)))?.stringData?.value;
  const fetches = () => transport.requests.filter(isFetch).map(({ path }) => path.split("/").at(-1));
  /** The notifications since the last call. */
  const news = async (ms = 0) => {
    await clock.advance(ms);
    return notified.splice(0);
  };
  return { clock, api, transport, shared, references, write, remove, read, fetches, news };
}

/** Holds back responses of the server until a test releases them. */
function holdBack(): { fault: Fault; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const fault: Fault = async (_request, pass) => {
    const response = await pass();
    await promise;
    return response;
  };
  return { fault: when(isFetch, fault), release: resolve };
}

describe("a referenced object", () => {
  test.each(["a%b", "a/b", ".", "..", ""])("does not exist when nothing can be named %j", async (name) => {
    const { read, fetches } = setUp();
    expect(await read(name)).toBeUndefined();
    expect(fetches()).toEqual([]);
  });

  test("is fetched once, regardless of the number of reads", async () => {
    const { references, write, read, fetches, news } = setUp();
    await write("a", "1");
    references.set("holder", [ref("a")]);
    await news();
    expect([await read("a"), await read("a")]).toEqual(["1", "1"]);
    expect(fetches()).toEqual(["a"]);
    expect(await news()).toEqual([]);
  });

  test("is fetched once for all who read it at the same time", async () => {
    const { references, write, read, fetches, news } = setUp();
    await write("a", "1");
    references.set("x", [ref("a")]);
    references.set("y", [ref("a")]);
    await news();
    expect(await Promise.all([read("a"), read("a"), read("a")])).toEqual(["1", "1", "1"]);
    expect(fetches()).toEqual(["a"]);
  });

  test("that changes is reported to each of its holders and fetched again", async () => {
    const { references, write, read, news } = setUp();
    await write("a", "1");
    references.set("x", [ref("a")]);
    references.set("y", [ref("b"), ref("a")]);
    references.set("z", [ref("b")]);
    await news();
    await read("a");
    await write("a", "2");
    expect(await news()).toEqual(["x", "y"]);
    expect(await read("a")).toBe("2");
  });

  test("that is missing is reported when it appears and when it is deleted", async () => {
    const { references, write, remove, read, fetches, news } = setUp();
    references.set("x", [ref("a")]);
    await news();
    expect([await read("a"), await read("a")]).toEqual([undefined, undefined]);
    expect(fetches()).toEqual(["a"]);
    await write("a", "1");
    expect(await news()).toEqual(["x"]);
    expect(await read("a")).toBe("1");
    await remove("a");
    expect(await news()).toEqual(["x"]);
    expect(await read("a")).toBeUndefined();
  });

  test("that is deleted while the first list is on its way is reported", async () => {
    const { api, references, write, remove, read, news } = setUp();
    api.streamLagMs = 1_000;
    await write("a", "1");
    references.set("x", [ref("a")]);
    await news();
    await read("a");
    await remove("a");
    expect(await news(1_000)).toEqual(["x"]);
    expect(await read("a")).toBeUndefined();
  });

  test("that cannot be fetched is requested again by the next read", async () => {
    const { references, transport, write, read } = setUp();
    await write("a", "1");
    references.set("x", [ref("a")]);
    transport.fault = when(isFetch, answers(500));
    await expect(read("a")).rejects.toMatchObject({ code: 500 });
    transport.fault = undefined;
    expect(await read("a")).toBe("1");
  });
});

describe("referenced objects that are larger than all together may be", () => {
  const KEPT = 100_000;
  const large = (digit: string) => digit.repeat(KEPT * 0.6);

  test("cost no more memory than that, and a request for each read of what is not kept", async () => {
    const { shared, references, write, read, fetches, news } = setUp({ keptBytes: KEPT });
    const names = Array.from({ length: 20 }, (_, number) => `s${number}`);
    for (const name of names) await write(name, large("1"));
    references.set(
      "x",
      names.map((name) => ref(name)),
    );
    await news();
    for (const name of names) {
      expect(await read(name)).toBe(large("1"));
      expect(shared.keptBytes).toBeLessThanOrEqual(KEPT);
    }
    expect(shared.keptBytes).toBeGreaterThan(KEPT / 2);
    await read("s19");
    expect(fetches()).toEqual(names);
    await read("s0");
    expect(fetches()).toEqual([...names, "s0"]);
    references.set("x", []);
    expect(shared.keptBytes).toBe(0);
  });

  test("are reported if they changed while they were not cached and the watch was interrupted", async () => {
    const { references, transport, write, read, news } = setUp({ keptBytes: KEPT });
    for (const name of ["a", "b"]) await write(name, large("1"));
    references.set("x", [ref("a")]);
    references.set("y", [ref("b")]);
    await news();
    await read("a");
    await read("b");
    transport.fault = offline;
    await news(10 * 60_000);
    await write("a", "2");
    transport.fault = undefined;
    expect(await news(60_000)).toEqual(["x"]);
  });

  test("are reported to all holders when one of them finds a change before the watch does", async () => {
    const { references, transport, write, read, news } = setUp({ keptBytes: KEPT });
    for (const name of ["a", "b"]) await write(name, large("1"));
    references.set("x", [ref("a"), ref("b")]);
    references.set("y", [ref("a")]);
    await news();
    await read("a");
    await read("b");
    transport.fault = when((request) => !isFetch(request), offline);
    await news(10 * 60_000);
    await write("a", large("2"));
    expect(await news()).toEqual([]);
    expect(await read("a")).toBe(large("2"));
    expect(await news()).toEqual(["x", "y"]);
    transport.fault = undefined;
    expect(await news(60_000)).toEqual([]);
  });
});

describe("an object without references", () => {
  test("is neither fetched nor reported, and its content never crosses the wire", async () => {
    const { references, transport, write, read, fetches, news } = setUp();
    await write("a", "1");
    await write("unrelated", "1");
    await write("elsewhere", "1", "other");
    references.set("x", [ref("a")]);
    await news();
    await read("a");
    await write("unrelated", "2");
    await write("elsewhere", "2", "other");
    expect(await news()).toEqual([]);
    expect(fetches()).toEqual(["a"]);
    const watches = transport.requests.filter((request) => !isFetch(request));
    expect(watches.map(({ path }) => path.split("?")[0])).toEqual(["/api/v1/namespaces/n/secrets"]);
    expect(watches.map(({ path }) => fieldSelector(path))).toEqual(["metadata.name=a"]);
    expect(watches.every(({ headers }) => headers.accept?.includes("PartialObjectMetadata"))).toBe(true);
  });

  test("is not watched: the last reference to an object takes its watch along", async () => {
    const { shared, references, api, news } = setUp();
    references.set("x", [ref("a"), ref("a", "other"), ref("b")]);
    references.set("y", [ref("b")]);
    await news();
    expect(api.openWatches).toBe(3);
    references.set("x", []);
    await news();
    expect(api.openWatches).toBe(1);
    references.set("y", [ref("c", "other")]);
    await news();
    expect(api.openWatches).toBe(1);
    shared.stop();
    await news();
    expect(api.openWatches).toBe(0);
  });

  test("is forgotten: referred to again, it is fetched again", async () => {
    const { references, write, read, fetches, news } = setUp();
    await write("a", "1");
    references.set("x", [ref("a"), ref("b")]);
    await read("a");
    references.set("x", [ref("b")]);
    await write("a", "2");
    references.set("x", [ref("b"), ref("a")]);
    expect(await read("a")).toBe("2");
    expect(fetches()).toEqual(["a", "a"]);
    expect(await news()).toEqual([]);
  });
});

describe("more references than there may be watches", () => {
  const many = Array.from({ length: 40 }, (_, number) => ref(`s${number}`));

  test("into one namespace are reported by one watch of it", async () => {
    const { references, api, write, read, news } = setUp();
    references.set("x", many);
    await news();
    expect(api.openWatches).toBe(1);
    for (const name of ["s0", "s39"]) {
      expect(await read(name)).toBeUndefined();
      await write(name, "1");
      expect(await news()).toEqual(["x"]);
      expect(await read(name)).toBe("1");
    }
    await write("unrelated", "1");
    expect(await news()).toEqual([]);
  });

  test("leave the watches in other namespaces as they are", async () => {
    const { references, api, news } = setUp();
    references.set("x", [ref("a", "other"), ref("b", "other")]);
    references.set("y", many);
    references.set("z", [ref("c", "other")]);
    await news();
    expect(api.openWatches).toBe(4);
  });

  test("lose no change while the watch of the namespace takes over", async () => {
    const { references, transport, write, remove, read, news } = setUp();
    await write("s0", "1");
    await write("s1", "1");
    references.set("x", many.slice(0, 10));
    await news();
    expect([await read("s0"), await read("s1")]).toEqual(["1", "1"]);
    transport.fault = offline;
    references.set("y", many.slice(10));
    await news();
    await write("s0", "2");
    await remove("s1");
    transport.fault = undefined;
    expect(await news(1_000)).toEqual(["x", "x"]);
    expect([await read("s0"), await read("s1")]).toEqual(["2", undefined]);
  });

  test("end the watch of the namespace with the last of them", async () => {
    const { references, api, news } = setUp();
    references.set("x", many);
    references.set("x", many.slice(0, 1));
    await news();
    expect(api.openWatches).toBe(1);
    references.set("x", []);
    await news();
    expect(api.openWatches).toBe(0);
  });
});

describe("references into many namespaces", () => {
  const everywhere = Array.from({ length: 500 }, (_, number) => ref("a", `n${number}`));

  test("by several controllers share watches, and a few connections serve all of them", async () => {
    const { shared, api, write, news } = setUp();
    const notified: string[] = [];
    for (const controller of ["one", "two", "three"]) {
      const held = shared.heldBy((holder) => notified.push(`${controller} ${holder}`));
      for (const each of everywhere) held.set(`${each.namespace}/x`, [each]);
    }
    await news();
    expect(api.openWatches).toBe(1);
    await write("a", "1", "n7");
    await write("a", "1", "n499");
    await write("unrelated", "1", "n7");
    await news();
    expect(notified.sort()).toEqual(
      ["one", "three", "two"].flatMap((name) => [`${name} n499/x`, `${name} n7/x`]),
    );
  });

  test("never use more than 64 connections during the change, and miss no event", async () => {
    const { references, api, write, news } = setUp();
    for (const [index, each] of everywhere.slice(0, 80).entries()) {
      references.set(`${each.namespace}/x`, [each]);
      await news();
      expect(api.openWatches).toBeLessThanOrEqual(64);
      await write("a", `${index}`, "n0");
      expect(await news()).toEqual(["n0/x"]);
      expect((await references.get(ref("a", "n0")))?.stringData?.value).toBe(`${index}`);
    }
    expect(api.openWatches).toBe(1);
  });

  test("stay within the namespaces that the operator may look at", async () => {
    const namespaces = everywhere.slice(0, 80).map(({ namespace }) => namespace);
    const { references, transport, news } = setUp({ namespaces });
    for (const each of everywhere.slice(0, 80)) references.set(`${each.namespace}/x`, [each]);
    await news();
    expect(transport.requests.filter(({ path }) => !path.includes("/namespaces/"))).toEqual([]);
  });
});

test("after a restore of the server to an older version, objects are fetched again", async () => {
  const { api, references, write, read, news } = setUp();
  await write("a", "1");
  references.set("x", [ref("a")]);
  const restore = api.backUp();
  await write("a", "2");
  await news();
  expect(await read("a")).toBe("2");
  restore();
  expect(await news(5_000)).toEqual(["x"]);
  expect(await read("a")).toBe("1");
});

describe("an answer that is overtaken by the watch is not kept", () => {
  test("when the object was missing and is reported by the first list", async () => {
    const { references, transport, write, read, clock } = setUp();
    const { fault, release } = holdBack();
    transport.fault = when((request) => !isFetch(request), offline);
    references.set("x", [ref("a")]);
    await clock.advance(0);
    transport.fault = fault;
    const reading = read("a");
    await clock.advance(0);
    await write("a", "1");
    await clock.advance(1_000);
    release();
    expect(await reading).toBe("1");
    expect(await read("a")).toBe("1");
  });

  test("when the object was there and is missing from the first list", async () => {
    const { references, transport, write, remove, read, clock } = setUp();
    const { fault, release } = holdBack();
    await write("a", "1");
    transport.fault = when((request) => !isFetch(request), offline);
    references.set("x", [ref("a")]);
    await clock.advance(0);
    transport.fault = fault;
    const reading = read("a");
    await clock.advance(0);
    await remove("a");
    await clock.advance(1_000);
    release();
    expect(await reading).toBeUndefined();
    expect(await read("a")).toBeUndefined();
  });

  test.each([
    ["missing and appears", undefined, "2"],
    ["there and changes", "1", "2"],
    ["there and goes", "1", undefined],
  ])("when the object was %s", async (_, before, after) => {
    const { references, transport, write, remove, read, news } = setUp();
    if (before) await write("a", before);
    references.set("x", [ref("a")]);
    await news();
    const { fault, release } = holdBack();
    transport.fault = fault;
    const reading = read("a");
    await news();
    if (after) await write("a", after);
    else await remove("a");
    expect(await news()).toEqual(["x"]);
    release();
    expect(await reading).toBe(after);
    expect(await read("a")).toBe(after);
  });
});

describe("after an outage that outlived the history", () => {
  test("holders are notified of the changes in between, and of nothing else", async () => {
    const { api, references, transport, write, remove, read, fetches, news } = setUp();
    for (const name of ["same", "changed", "deleted"]) await write(name, "1");
    const names = ["same", "changed", "deleted", "created"];
    for (const name of names) references.set(`holder of ${name}`, [ref(name)]);
    await news();
    for (const name of names) await read(name);
    transport.fault = offline;
    transport.cutWatches();
    await write("changed", "2");
    await remove("deleted");
    await write("created", "1");
    api.compact();
    expect(await news(60_000)).toEqual([]);
    transport.fault = undefined;
    expect((await news(20_000)).sort()).toEqual([
      "holder of changed",
      "holder of created",
      "holder of deleted",
    ]);
    expect([await read("same"), fetches().filter((name) => name === "same")]).toEqual(["1", ["same"]]);
    expect([await read("changed"), await read("deleted"), await read("created")]).toEqual([
      "2",
      undefined,
      "1",
    ]);
  });
});
