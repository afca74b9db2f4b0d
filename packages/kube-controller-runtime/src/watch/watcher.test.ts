import { describe, expect, test } from "vitest";
import { configMap, type Following, following } from "../../test/support/following.ts";
import type { VirtualClock } from "../../testing/clock.ts";
import {
  answers,
  cutAfter,
  drips,
  endsAtOnce,
  type Fault,
  offline,
  refusesStreamingLists,
  silent,
  times,
  when,
} from "../../testing/faulty-transport.ts";
import { stubClient } from "../../testing/stub-client.ts";
import type { WatchEvent } from "../client/client.ts";
import { ApiError } from "../client/error.ts";
import { ConfigMap } from "../kinds.ts";

type FaultCase = [string, (clock: VirtualClock) => Fault];

const MINUTE = 60_000;

const watches = ({ path }: { path: string }) => path.includes("watch=true");
const streams = ({ path }: { path: string }) => path.includes("sendInitialEvents");
const paths = ({ transport }: Following) => transport.requests.map(({ path }) => path);

describe("the first list", () => {
  test("is delivered in one bracket, and later changes one by one", async () => {
    const it = following();
    await it.other.create(ConfigMap, configMap("before"));
    await it.clock.advance(0);
    await it.other.create(ConfigMap, configMap("after"));
    await it.other.mergePatch(ConfigMap, { namespace: "default", name: "before" }, { data: { value: "2" } });
    await it.other.delete(ConfigMap, { namespace: "default", name: "after" });
    await it.clock.advance(0);
    const list = ["init", "initApply before", "initDone"];
    expect(it.seen).toEqual([...list, "apply after", "apply before=2", "delete after"]);
    expect(it.transport.requests).toHaveLength(1);
  });

  test("removes objects that are deleted while it streams", async () => {
    const event = (type: WatchEvent<ConfigMap>["type"], name: string, annotations = {}) => ({
      type,
      object: { metadata: { name, uid: name, resourceVersion: "7", annotations } },
    });
    async function* scripted() {
      yield event("ADDED", "kept");
      yield event("ADDED", "lost");
      yield event("DELETED", "lost");
      yield event("BOOKMARK", "", { "k8s.io/initial-events-end": "true" });
      await new Promise(() => {});
    }
    const it = following(undefined, { client: stubClient({ watch: scripted }) });
    await it.clock.advance(0);
    expect(it.seen).toEqual(["init", "initApply kept", "initApply lost", "initDelete lost", "initDone"]);
  });

  test.each([
    ["refuses streaming", refusesStreamingLists, 1_000],
    ["ends the stream without saying that it is complete", when(streams, endsAtOnce), 1_000],
    ["streams objects and never says that these are all", when(streams, silent), 2 * MINUTE],
  ])(
    "is read in pages from a server that %s, which is asked for a stream only once",
    async (_, fault, withinMs) => {
      const it = following(fault);
      for (let number = 100; number < 700; number++)
        await it.other.create(ConfigMap, configMap(`c${number}`));
      await it.clock.advance(withinMs);
      const pages = paths(it).filter((path) => path.includes("limit=500"));
      expect(pages).toHaveLength(2);
      expect(new Set(it.seen.filter((event) => event.startsWith("initApply"))).size).toBe(600);
      expect(it.seen.at(-1)).toBe("initDone");
      it.api.compact();
      it.transport.cutWatches();
      await it.clock.advance(withinMs);
      expect(it.seen.filter((event) => event === "initDone")).toHaveLength(2);
      expect(it.transport.requests.filter(streams)).toHaveLength(1);
    },
  );

  test("is read in smaller pages if a page would exceed the memory limit, and repeats the first page", async () => {
    const limits: number[] = [];
    const pageOf = async (_kind: unknown, { limit = 0, continueToken = "" } = {}) => {
      limits.push(limit);
      if (limit > 130) throw new ApiError("too large", { reason: "ResponseTooLarge", code: 0 });
      const item = { metadata: { name: `after-${continueToken}`, uid: "u", resourceVersion: "7" } };
      return { items: [item], resourceVersion: "7", continueToken: continueToken ? undefined : "first" };
    };
    async function* refusing(_kind: unknown, { sendInitialEvents = false }): AsyncGenerator<never> {
      if (sendInitialEvents) throw new ApiError("no", { reason: "Invalid", code: 422 });
      await new Promise(() => {});
    }
    const it = following(undefined, { client: stubClient({ list: pageOf, watch: refusing }) });
    await it.clock.advance(1_000);
    expect(limits).toEqual([500, 250, 125, 125]);
    expect(it.seen.slice(-4)).toEqual(["init", "initApply after-", "initApply after-first", "initDone"]);
  });

  test("starts again when a continue token expires", async () => {
    const it = following(when(({ path }) => path.includes("continue="), times(1, answers(410))));
    it.api.streamsLists = false;
    for (let number = 100; number < 700; number++) await it.other.create(ConfigMap, configMap(`c${number}`));
    await it.clock.advance(5_000);
    const last = it.seen.slice(it.seen.lastIndexOf("init"));
    expect(last).toHaveLength(602);
    expect(last.at(-1)).toBe("initDone");
  });
});

describe("a watch that breaks", () => {
  test("continues where it was: no event is lost or duplicated", async () => {
    const it = following();
    await it.clock.advance(0);
    await it.other.create(ConfigMap, configMap("one"));
    await it.clock.advance(0);
    it.transport.fault = offline;
    it.transport.cutWatches();
    await it.other.create(ConfigMap, configMap("two"));
    await it.other.delete(ConfigMap, { namespace: "default", name: "one" });
    await it.clock.advance(MINUTE);
    it.transport.fault = undefined;
    await it.clock.advance(10_000);
    expect(it.seen).toEqual(["init", "initDone", "apply one", "apply two", "delete one"]);
  });

  test("in the middle of an event reports that event once it can", async () => {
    const it = following();
    await it.clock.advance(0);
    it.transport.fault = times(3, cutAfter(40));
    it.transport.cutWatches();
    await it.other.create(ConfigMap, configMap("one"));
    await it.clock.advance(MINUTE);
    expect(it.seen).toEqual(["init", "initDone", "apply one"]);
  });

  test("resumes from a bookmark, so that a quiet kind does not fall out of the history", async () => {
    const it = following();
    await it.clock.advance(0);
    await it.other.create(ConfigMap, configMap("one"));
    it.api.compact();
    await it.clock.advance(MINUTE);
    it.transport.cutWatches();
    await it.clock.advance(1_000);
    expect(it.seen).toEqual(["init", "initDone", "apply one"]);
  });

  test("relists when the history is gone: objects deleted in the meantime are missing from the new list", async () => {
    const it = following();
    await it.other.create(ConfigMap, configMap("kept"));
    await it.other.create(ConfigMap, configMap("lost"));
    await it.clock.advance(0);
    it.transport.fault = offline;
    it.transport.cutWatches();
    await it.other.delete(ConfigMap, { namespace: "default", name: "lost" });
    it.api.compact();
    it.transport.fault = undefined;
    await it.clock.advance(5_000);
    expect(it.seen.slice(it.seen.lastIndexOf("init"))).toEqual(["init", "initApply kept", "initDone"]);
  });

  test.each([
    ["is silent", () => silent],
    ["drips a byte each second", (clock) => drips(clock, 1_000)],
  ] satisfies FaultCase[])(
    "because it %s is replaced when the server does not end it in time",
    async (_, faultOf) => {
      const it = following();
      await it.clock.advance(0);
      it.transport.fault = when(watches, times(1, faultOf(it.clock)));
      it.transport.cutWatches();
      await it.clock.advance(1_000);
      await it.other.create(ConfigMap, configMap("one"));
      await it.clock.advance(225_000);
      expect(it.seen).toEqual(["init", "initDone", "apply one"]);
      expect(it.retries.at(-1)).toMatchObject({
        error: { reason: "Timeout", message: expect.stringContaining("silent") },
        expected: true,
      });
    },
  );

  test("by silence twice in a row causes a relist", async () => {
    const it = following();
    await it.clock.advance(0);
    it.transport.fault = when(watches, times(2, silent));
    it.transport.cutWatches();
    await it.clock.advance(8 * MINUTE);
    expect(it.seen).toEqual(["init", "initDone", "init", "initDone"]);
    expect(it.retries.map(({ expected }) => expected)).toEqual([false, true, false]);
  });

  test("of a kind without changes does not fail: it ends at the requested time", async () => {
    const it = following();
    await it.clock.advance(60 * MINUTE);
    expect(it.retries).toEqual([]);
    expect(it.seen).toEqual(["init", "initDone"]);
    expect(it.transport.requests.length).toBeLessThan(20);
  });

  test("because the server was restored to an older version starts over, and follows later changes", async () => {
    const it = following();
    await it.other.create(ConfigMap, configMap("kept"));
    const restore = it.api.backUp();
    await it.other.create(ConfigMap, configMap("lost"));
    for (let change = 0; change < 50; change++)
      await it.other.mergePatch(
        ConfigMap,
        { namespace: "default", name: "lost" },
        { data: { value: `${change}` } },
      );
    await it.clock.advance(MINUTE);
    restore();
    await it.clock.advance(5_000);
    await it.other.create(ConfigMap, configMap("after"));
    await it.clock.advance(0);
    expect(it.seen.slice(it.seen.lastIndexOf("init"))).toEqual([
      "init",
      "initApply kept",
      "initDone",
      "apply after",
    ]);
  });
});

describe("time", () => {
  test("each watch requests a timeout of three to four minutes, at random", async () => {
    const lengths = [0, 0.999].map(async (random) => {
      const it = following(undefined, { random: () => random });
      await it.clock.advance(0);
      return new URLSearchParams(paths(it)[0]).get("timeoutSeconds");
    });
    expect(await Promise.all(lengths)).toEqual(["180", "240"]);
  });

  test("the routine end of a watch causes no wait and does not count as a failure", async () => {
    const it = following();
    await it.clock.advance(6 * MINUTE);
    expect(it.transport.requests).toHaveLength(2);
    expect(paths(it).filter((path) => !path.includes("watch=true"))).toEqual([]);
    expect(it.api.openWatches).toBe(1);
    expect(it.retries).toEqual([]);
  });

  test("failures in a row wait longer and longer, up to ten seconds, and a healthy watch forgives them", async () => {
    const it = following(offline);
    await it.clock.advance(MINUTE);
    const waits = it.retries.map(({ waitMs }) => waitMs);
    expect(waits.slice(0, 8)).toEqual([150, 300, 600, 1_200, 2_400, 4_800, 7_500, 7_500]);
    it.transport.fault = undefined;
    await it.clock.advance(MINUTE);
    it.transport.cutWatches();
    await it.clock.advance(0);
    expect(it.retries.at(-1)?.waitMs).toBeLessThan(200);
  });

  test("a server that requests a delay gets it", async () => {
    const it = following(answers(429, { "retry-after": "47" }));
    await it.clock.advance(46_999);
    expect(it.transport.requests).toHaveLength(1);
    await it.clock.advance(1);
    expect(it.transport.requests).toHaveLength(2);
  });
});

test("an aborted watcher ends at once and leaves no request and no timer behind", async () => {
  const it = following();
  await it.clock.advance(0);
  it.abort.abort();
  await it.ended;
  expect([it.api.openWatches, it.clock.pending]).toEqual([0, 0]);
  expect(it.retries).toEqual([]);
  const waiting = following(offline);
  await waiting.clock.advance(1_000);
  waiting.abort.abort();
  await waiting.ended;
  expect(waiting.clock.pending).toBe(0);
});
