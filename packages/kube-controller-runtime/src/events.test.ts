import { describe, expect, it } from "vitest";
import { settle, VirtualClock } from "../testing/clock.ts";
import { apiError, silentLog, stubClient } from "../testing/stub-client.ts";
import { NotLeaderError } from "./errors.ts";
import { ClusterEventRecorder } from "./events.ts";
import type { CoreEvent } from "./kinds.ts";
import type { KubeObject, ObjectRef } from "./object.ts";

const widget: KubeObject = {
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { namespace: "ns", name: "w", uid: "uid-w", resourceVersion: "7" },
};
const created = { type: "Normal", reason: "Created", message: "created Deployment w" } as const;
const MINUTE = 60_000;

function setUp() {
  const clock = new VirtualClock();
  const stored = new Map<string, CoreEvent>();
  const requests: string[] = [];
  const behavior: { fail?: () => unknown; hang?: Promise<void>; loseAnswers?: boolean } = {};
  const serve = async (verb: string, perform: () => unknown) => {
    requests.push(verb);
    await behavior.hang;
    const failure = behavior.fail?.();
    if (failure) throw failure;
    const answer = perform();
    if (behavior.loseAnswers) throw apiError("Timeout");
    return answer;
  };
  const client = stubClient({
    create: (_: unknown, event: CoreEvent) =>
      serve("create", () => {
        const key = `${event.metadata.namespace}/${event.metadata.name}`;
        if (stored.has(key)) throw apiError("AlreadyExists");
        stored.set(key, event);
      }),
    mergePatch: (_: unknown, { namespace, name }: ObjectRef, patch: object) =>
      serve("patch", () => {
        const event = stored.get(`${namespace}/${name}`);
        if (!event) throw apiError("NotFound");
        stored.set(`${namespace}/${name}`, { ...event, ...patch });
      }),
  });
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const reporter = { component: "widget-operator", instance: "pod-1" };
  const recorder = new ClusterEventRecorder({ client, clock, random, log: silentLog, ...reporter });
  const events = () => [...stored.values()];
  return { clock, recorder, stored, events, requests, behavior };
}

describe("an event", () => {
  it("shows no secret that its message quotes", async () => {
    const { recorder, events } = setUp();
    recorder.event(widget, { ...created, message: "the server says postgres://u:hunter2@db/coder" });
    await settle();
    expect(events()).toMatchObject([{ message: "the server says postgres://[redacted]" }]);
  });

  it("is written at once, with all that kubectl describe shows", async () => {
    const { recorder, events } = setUp();
    recorder.event(widget, created);
    await settle();
    expect(events()).toEqual([
      {
        apiVersion: "v1",
        kind: "Event",
        metadata: { namespace: "ns", name: expect.stringMatching(/^w\.[0-9a-f]{16}$/) },
        involvedObject: {
          apiVersion: "example.com/v1",
          kind: "Widget",
          namespace: "ns",
          name: "w",
          uid: "uid-w",
          resourceVersion: "7",
        },
        type: "Normal",
        reason: "Created",
        message: "created Deployment w",
        count: 1,
        firstTimestamp: "2026-01-01T00:00:00Z",
        lastTimestamp: "2026-01-01T00:00:00Z",
        source: { component: "widget-operator" },
        reportingComponent: "widget-operator",
        reportingInstance: "pod-1",
      },
    ]);
  });

  it("about a cluster-scoped object is written to the namespace default", async () => {
    const { recorder, events } = setUp();
    recorder.event({ kind: "Node", metadata: { name: "n", uid: "u" } }, created);
    await settle();
    expect(events()[0]?.metadata.namespace).toBe("default");
    expect(events()[0]?.involvedObject).not.toHaveProperty("namespace");
  });

  it.each(["x".repeat(253), `${"x".repeat(235)}.${"y".repeat(17)}`, "system:Odd_Name", ""])(
    "gets a valid name for any name of the object (%s)",
    async (name) => {
      const { recorder, events } = setUp();
      recorder.event({ metadata: { namespace: "ns", name } }, created);
      await settle();
      const eventName = events()[0]?.metadata.name ?? "";
      expect(eventName.length).toBeLessThanOrEqual(253);
      expect(eventName).toMatch(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.[0-9a-f]{16}$/);
    },
  );

  it("has a message of at most 1024 characters", async () => {
    const { recorder, events } = setUp();
    recorder.event(widget, { ...created, message: "m".repeat(5_000) });
    await settle();
    expect(events()[0]?.message).toHaveLength(1_024);
  });
});

describe("repetitions", () => {
  it("of one event in a moment cause two requests, and their number is right", async () => {
    const { clock, recorder, events, requests } = setUp();
    for (let n = 0; n < 500; n++) recorder.event(widget, created);
    await settle();
    for (let n = 0; n < 500; n++) recorder.event(widget, created);
    await clock.advance(10_000);
    expect(requests).toEqual(["create", "patch"]);
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({ count: 1_000, firstTimestamp: "2026-01-01T00:00:00Z" });
  });

  it("within seconds of each other share one request", async () => {
    const { clock, recorder, events, requests } = setUp();
    for (let n = 0; n < 5; n++) {
      recorder.event(widget, created);
      await clock.advance(1_000);
    }
    await clock.advance(10_000);
    expect(requests).toEqual(["create", "patch"]);
    expect(events()[0]).toMatchObject({ count: 5, lastTimestamp: "2026-01-01T00:00:04Z" });
  });

  it("move the last time and keep the first", async () => {
    const { clock, recorder, events } = setUp();
    recorder.event(widget, created);
    await clock.advance(MINUTE);
    recorder.event(widget, created);
    await clock.advance(10_000);
    expect(events()[0]).toMatchObject({
      count: 2,
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:01:00Z",
    });
  });

  it("are distinguished by object, type, reason and message", async () => {
    const { clock, recorder, events } = setUp();
    const other = { ...widget, metadata: { ...widget.metadata, uid: "another incarnation" } };
    recorder.event(widget, created);
    recorder.event(other, created);
    recorder.event(widget, { ...created, type: "Warning" });
    recorder.event(widget, { ...created, reason: "Updated" });
    recorder.event(widget, { ...created, message: "created Service w" });
    await clock.advance(10_000);
    expect(events().map(({ count }) => count)).toEqual([1, 1, 1, 1, 1]);
    expect(new Set(events().map(({ metadata }) => metadata.name)).size).toBe(5);
  });

  it("after a long silence begin a new Event", async () => {
    const { clock, recorder, events } = setUp();
    recorder.event(widget, created);
    await clock.advance(11 * MINUTE);
    recorder.event(widget, created);
    await clock.advance(10_000);
    expect(events().map(({ count }) => count)).toEqual([1, 1]);
  });

  it("cause a burst of 25 requests and then at most one in five minutes", async () => {
    const { clock, recorder, requests, events } = setUp();
    for (let minute = 0; minute < 10; minute++) {
      for (let n = 0; n < 6; n++) {
        recorder.event(widget, created);
        await clock.advance(10_000);
      }
    }
    expect(requests.length).toBeLessThanOrEqual(25 + 2);
    await clock.advance(5 * MINUTE);
    recorder.event(widget, created);
    await clock.advance(10_000);
    expect(events().map(({ count }) => count)).toEqual([61]);
  });

  it("of one object leave the events of others alone", async () => {
    const { clock, recorder, events } = setUp();
    for (let n = 0; n < 100; n++) {
      recorder.event(widget, { ...created, message: `${n}` });
      recorder.event(widget, { ...created, reason: `Reason${n}` });
    }
    recorder.event({ ...widget, metadata: { ...widget.metadata, uid: "calm", name: "calm" } }, created);
    await clock.advance(10_000);
    expect(events().at(-1)?.involvedObject.name).toBe("calm");
  });

  it("leave room for what is said of the object when it is deleted", async () => {
    const { clock, recorder, events } = setUp();
    for (let n = 0; n < 100; n++) recorder.event(widget, { ...created, reason: `Reason${n}` });
    await clock.advance(10_000);
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    const deleted = { ...widget, metadata: { ...widget.metadata, deletionTimestamp } };
    recorder.event(deleted, { type: "Warning", reason: "LeftBehind", message: "a key stays" });
    await settle();
    expect(events().at(-1)).toMatchObject({ reason: "LeftBehind", involvedObject: { uid: "uid-w" } });
  });

  it("with always different messages are combined after ten", async () => {
    const { clock, recorder, events } = setUp();
    for (let n = 1; n <= 15; n++) recorder.event(widget, { ...created, message: `created pod ${n}` });
    await clock.advance(10_000);
    expect(events()).toHaveLength(11);
    expect(events().at(-1)).toMatchObject({
      count: 5,
      message: "(combined from similar events): created pod 15",
    });
  });

  it("create a new Event when theirs has expired, and count from there", async () => {
    const { clock, recorder, events, stored } = setUp();
    recorder.event(widget, created);
    await clock.advance(MINUTE);
    const [expired] = stored.keys();
    stored.clear();
    recorder.event(widget, created);
    await clock.advance(10_000);
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({ count: 1, firstTimestamp: "2026-01-01T00:01:00Z" });
    expect([...stored.keys()]).not.toContain(expired);
    recorder.event(widget, created);
    await clock.advance(10_000);
    expect(events()[0]).toMatchObject({ count: 2 });
  });
});

describe("a failing API server", () => {
  it.each(["Unreachable", "Timeout", "InternalError", "TooManyRequests"])(
    "that says %s for a moment loses no event",
    async (reason) => {
      const { clock, recorder, events, behavior } = setUp();
      behavior.fail = () => apiError(reason);
      recorder.event(widget, created);
      await settle();
      delete behavior.fail;
      await clock.advance(10_000);
      expect(events()).toHaveLength(1);
    },
  );

  it("is retried four times, then the event is dropped", async () => {
    const { clock, recorder, requests, behavior } = setUp();
    behavior.fail = () => apiError("Unreachable");
    recorder.event(widget, created);
    await clock.advance(60 * MINUTE);
    expect(requests).toHaveLength(4);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ["refuses it", apiError("Forbidden")],
    ["finds it invalid", apiError("Invalid")],
    ["may not be written to", new NotLeaderError("create not sent")],
  ])("that %s is requested once", async (_, failure) => {
    const { clock, recorder, requests, behavior } = setUp();
    behavior.fail = () => failure;
    recorder.event(widget, created);
    await clock.advance(60 * MINUTE);
    expect(requests).toHaveLength(1);
  });

  it("that loses its answers gets no event twice", async () => {
    const { clock, recorder, events, behavior } = setUp();
    behavior.loseAnswers = true;
    recorder.event(widget, created);
    await settle();
    behavior.loseAnswers = false;
    await clock.advance(10_000);
    expect(events()).toHaveLength(1);
    recorder.event(widget, created);
    await clock.advance(10_000);
    expect(events()[0]?.count).toBe(2);
  });

  it("does not make memory grow: beyond a thousand, events that wait are dropped", async () => {
    const { clock, recorder, events, behavior } = setUp();
    behavior.fail = () => apiError("Unreachable");
    for (let n = 0; n < 5_000; n++)
      recorder.event({ ...widget, metadata: { namespace: "ns", name: `w-${n}`, uid: `${n}` } }, created);
    delete behavior.fail;
    await clock.advance(MINUTE);
    expect(events()).toHaveLength(1_000);
  });
});

describe("flush", () => {
  it("writes repetitions that were still being gathered", async () => {
    const { recorder, events, clock } = setUp();
    recorder.event(widget, created);
    await settle();
    recorder.event(widget, created);
    await recorder.flush(1_000);
    expect(events()[0]?.count).toBe(2);
    expect(clock.pending).toBe(0);
  });

  it("stops at its deadline when the API server hangs, and sends nothing later", async () => {
    const { recorder, clock, behavior, requests } = setUp();
    const hang = Promise.withResolvers<void>();
    behavior.hang = hang.promise;
    for (const reason of ["A", "B", "C"]) recorder.event(widget, { ...created, reason });
    let over = false;
    void recorder.flush(1_000).then(() => {
      over = true;
    });
    await clock.advance(999);
    expect(over).toBe(false);
    await clock.advance(1);
    expect(over).toBe(true);
    hang.resolve();
    await settle();
    expect(requests).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });

  it("does not reject when writes fail", async () => {
    const { recorder, behavior } = setUp();
    behavior.fail = () => apiError("Unreachable");
    recorder.event(widget, created);
    await recorder.flush(1_000);
  });
});
