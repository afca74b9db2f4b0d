import { describe, expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../../test/support/clock.ts";
import { FakeApi } from "../../../test/support/fake-api/fake-api.ts";
import {
  answers,
  cutAfter,
  drips,
  endsAtOnce,
  type Fault,
  FaultyTransport,
  neverAnswers,
  offline,
  refusesStreamingLists,
  silent,
  times,
  when,
} from "../../../test/support/faulty-transport.ts";
import { stubClient } from "../../../test/support/stub-client.ts";
import type { Client, WatchEvent } from "../client/client.ts";
import type { ApiError } from "../client/error.ts";
import { HttpClient } from "../client/http-client.ts";
import { ConfigMap } from "../kinds.ts";
import type { Stored } from "../object.ts";
import { type WatcherEvent, type WatcherOptions, watcher } from "./watcher.ts";

type FaultCase = [string, (clock: VirtualClock) => Fault];

const MINUTE = 60_000;

interface Following {
  readonly clock: VirtualClock;
  readonly api: FakeApi;
  readonly transport: FaultyTransport;
  readonly other: Client;
  readonly seen: string[];
  readonly retries: { readonly error: ApiError; readonly waitMs: number }[];
  readonly abort: AbortController;
  /** Resolves when the watcher has ended. */
  readonly ended: Promise<void>;
}

/** A watcher of ConfigMaps in virtual time, and what it has told so far. */
function following(fault?: Fault, options: Partial<WatcherOptions<ConfigMap>> = {}): Following {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  const transport = new FaultyTransport(api);
  transport.fault = fault;
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const client = new HttpClient({ transport, clock, fieldManager: "test", userAgent: "test" });
  const seen: string[] = [];
  const retries: Following["retries"] = [];
  const events = watcher<ConfigMap>({
    client,
    kind: ConfigMap,
    clock,
    random: () => 0.5,
    signal: abort.signal,
    onRetry: (error, waitMs) => retries.push({ error, waitMs }),
    ...options,
  });
  const ended = record(events, seen);
  return { clock, api, transport, other: api.client(), seen, retries, abort, ended };
}

async function record(events: AsyncIterable<WatcherEvent<ConfigMap>>, seen: string[]): Promise<void> {
  for await (const event of events) {
    if (event.type !== "progress")
      seen.push("object" in event ? `${event.type} ${brief(event.object)}` : event.type);
  }
}

function brief({ metadata, data }: Stored<ConfigMap>): string {
  return [metadata.name, ...Object.values(data ?? {})].join("=");
}

function configMap(name: string, value?: string): ConfigMap {
  return { metadata: { namespace: "default", name }, ...(value ? { data: { value } } : {}) };
}

const streams = ({ path }: { path: string }) => path.includes("sendInitialEvents");
const watches = ({ path }: { path: string }) => path.includes("watch=true");
const paths = ({ transport }: Following) => transport.requests.map(({ path }) => path);

describe("the first list", () => {
  test("comes in one bracket, and what happens afterwards one by one", async () => {
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

  test("takes back what is deleted while it streams in", async () => {
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
    "comes page by page from a server that %s, which is asked for a stream only once",
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

  test("starts anew when the pages expire on the way", async () => {
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
  test("goes on where it was: nothing is lost and nothing comes twice", async () => {
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

  test("in the middle of an event tells that event once it can", async () => {
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

  test("lists anew when the history is gone: what was deleted meanwhile is missing from the new list", async () => {
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
  ] satisfies FaultCase[])("because it %s is replaced after the silence limit", async (_, faultOf) => {
    const it = following();
    await it.clock.advance(0);
    it.transport.fault = times(1, faultOf(it.clock));
    it.transport.cutWatches();
    await it.clock.advance(1_000);
    await it.other.create(ConfigMap, configMap("one"));
    await it.clock.advance(95_000);
    expect(it.seen).toEqual(["init", "initDone", "apply one"]);
    expect(it.retries.at(-1)?.error).toMatchObject({
      reason: "Timeout",
      message: expect.stringContaining("silent"),
    });
  });

  test("is kept by bookmarks alone when nothing changes", async () => {
    const it = following();
    await it.clock.advance(3 * MINUTE);
    expect(it.transport.requests).toHaveLength(1);
  });
});

describe("time", () => {
  test("the server is asked to end each watch after four to eight minutes, spread at random", async () => {
    const lengths = [0, 0.999].map(async (random) => {
      const it = following(undefined, { random: () => random });
      await it.clock.advance(0);
      return new URLSearchParams(paths(it)[0]).get("timeoutSeconds");
    });
    expect(await Promise.all(lengths)).toEqual(["240", "480"]);
  });

  test("the routine end of a watch costs no wait and is no failure", async () => {
    const it = following();
    await it.clock.advance(6 * MINUTE);
    expect(it.transport.requests).toHaveLength(2);
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

  test("a server that asks for time is given it", async () => {
    const it = following(answers(429, { "retry-after": "47" }));
    await it.clock.advance(46_999);
    expect(it.transport.requests).toHaveLength(1);
    await it.clock.advance(1);
    expect(it.transport.requests).toHaveLength(2);
  });
});

describe.each([
  ["nobody listens", () => offline],
  ["no answer ever comes", () => neverAnswers],
  ["bodies stay silent", () => silent],
  ["bodies drip", (clock) => drips(clock, 1_000)],
  ["bodies end at once", () => endsAtOnce],
  ["bodies are cut", () => cutAfter(20)],
  ["proxies answer with HTML", () => answers(200)],
  ["the credentials are refused", () => answers(401)],
  ["the role is missing", () => answers(403)],
  ["the kind is missing", () => answers(404)],
  ["the history is always gone", () => answers(410)],
  ["requests are invalid", () => answers(422)],
  ["requests are throttled", () => answers(429, { "retry-after": "1" })],
  ["the server has an error", () => answers(500)],
  ["the server is overloaded", () => answers(503)],
  ["watches fail with an error event", () => when(watches, answers(200, {}, `${errorEvent(500)}\n`))],
  ["watches fail with an unknown version", () => when(watches, answers(200, {}, `${errorEvent(410)}\n`))],
] satisfies FaultCase[])("while %s", (_, faultOf) => {
  test("a watcher that is listing asks calmly, goes on asking, and recovers", async () => {
    const it = following();
    it.transport.fault = faultOf(it.clock);
    await it.clock.advance(10 * MINUTE);
    expectCalm(it.transport.requests.length);
    await it.other.create(ConfigMap, configMap("late"));
    it.transport.fault = undefined;
    await it.clock.advance(2 * MINUTE);
    expect(it.seen.slice(it.seen.lastIndexOf("init"))).toEqual(["init", "initApply late", "initDone"]);
  });

  test("a watcher that has listed asks calmly, goes on asking, and misses nothing", async () => {
    const it = following();
    await it.clock.advance(0);
    it.transport.fault = faultOf(it.clock);
    it.transport.cutWatches();
    it.transport.requests.length = 0;
    await it.clock.advance(10 * MINUTE);
    expectCalm(it.transport.requests.length);
    await it.other.create(ConfigMap, configMap("late"));
    it.transport.fault = undefined;
    await it.clock.advance(2 * MINUTE);
    expect(it.seen.filter((event) => event.endsWith("late"))).toHaveLength(1);
  });
});

function errorEvent(code: number): string {
  const reason = code === 410 ? "Expired" : "InternalError";
  return JSON.stringify({ type: "ERROR", object: { kind: "Status", code, reason, message: reason } });
}

/** Over ten minutes: a request every few seconds at most, and never silence. */
function expectCalm(requests: number): void {
  expect(requests).toBeLessThan(130);
  expect(requests).toBeGreaterThan(4);
}

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
