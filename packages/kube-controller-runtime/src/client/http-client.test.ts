import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import {
  answers,
  cutAfter,
  drips,
  type Fault,
  FaultyTransport,
  neverAnswers,
  offline,
  silent,
  times,
} from "../../testing/faulty-transport.ts";
import { unfenced } from "../../testing/unfenced.ts";
import { ConfigMap, kind, Secret } from "../kinds.ts";
import { ApiError } from "./error.ts";
import { HttpClient, type HttpClientOptions } from "./http-client.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";

const ref = { namespace: "n", name: "a" };
const Pod = kind("v1", { kind: "Pod", plural: "pods" });
const watchOptions = { timeoutSeconds: 60, idleTimeoutMs: 60_000 };

function setUp(fault?: Fault, limits: Pick<HttpClientOptions, "maxPauseMs"> = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  const transport = new FaultyTransport(api);
  transport.fault = fault;
  const reported: string[] = [];
  const onRequest = ({ verb, code }: { verb: string; code: number }) => reported.push(`${verb} ${code}`);
  const options = { transport, clock, fieldManager: "me", userAgent: "unit/1", onRequest };
  const client = new HttpClient({ ...options, ...limits });
  return { clock, api, transport, client, reported };
}

/** Lets time pass until the work is done, and returns its error. */
async function failure(clock: VirtualClock, work: Promise<unknown>): Promise<ApiError> {
  const error = work.then(
    () => new Error("the request should have failed"),
    (reason: unknown) => reason,
  );
  await clock.advance(120_000);
  const reason = await error;
  if (!(reason instanceof ApiError)) throw reason;
  return reason;
}

describe("a request", () => {
  test.each([
    ["there is no response", neverAnswers],
    ["the response stops after its headers", silent],
  ])("is given up after half a minute when %s", async (_, fault) => {
    const { clock, transport, client } = setUp();
    await client.create(ConfigMap, { metadata: ref });
    transport.fault = fault;
    const startedAt = clock.monotonic();
    let failedAt = 0;
    const work = client.get(ConfigMap, ref).finally(() => (failedAt = clock.monotonic()));
    const error = await failure(clock, work);
    expect(error).toMatchObject({ reason: "Timeout", code: 0 });
    expect(error.message).toBe('get ConfigMap "n/a": no response within 30000 ms');
    expect(failedAt - startedAt).toBe(30_000);
  });

  test("whose credentials can't be read is not tried again, and fails with what is wrong with them", async () => {
    const broken = new KubeconfigError('exec of user "u" in /k: aws ended with code 1: please log in');
    const { clock, client, reported } = setUp(async () => {
      throw broken;
    });
    const error = await failure(clock, client.get(ConfigMap, ref));
    expect(error).toMatchObject({ reason: "Unreachable", code: 0, cause: broken });
    expect(error.message).toBe(`get ConfigMap "n/a": ${broken.message}`);
    expect(reported).toEqual(["get 0"]);
  });

  test("that fails inside this program is not blamed on the server, nor tried again", async () => {
    const bug = new TypeError("Promise.withResolvers is not a function");
    const { clock, client, reported } = setUp(async () => {
      throw bug;
    });
    const error = await failure(clock, client.get(ConfigMap, ref));
    expect(error).toMatchObject({ reason: "InternalError", code: 0, cause: bug });
    expect(error.message).toBe(`get ConfigMap "n/a": the request failed inside this program: ${bug.message}`);
    expect(reported).toEqual(["get 0"]);
  });

  test.each([
    [
      "of the network",
      Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
      "the API server could not be reached",
    ],
    ["without a code", new Error("the sky fell"), "the request failed"],
  ])(
    "that fails by an error %s keeps its cause, and blames the network only for its own",
    async (_, cause, why) => {
      const { clock, client } = setUp(async () => {
        throw cause;
      });
      const error = await failure(clock, client.get(ConfigMap, ref));
      expect(error).toMatchObject({ reason: "Unreachable", message: `get ConfigMap "n/a": ${why}`, cause });
    },
  );

  test("is given up after half a minute also when its answer drips", async () => {
    const { clock, transport, client } = setUp();
    await client.create(ConfigMap, { metadata: ref });
    transport.fault = drips(clock, 1_000);
    expect(await failure(clock, client.get(ConfigMap, ref))).toMatchObject({ reason: "Timeout" });
  });

  test.each([
    ["cannot be sent", offline, "Unreachable"],
    ["is answered with half an object", cutAfter(20), "Unreachable"],
    ["is answered with HTML", answers(200), "InvalidResponse"],
    ["is answered with nothing", answers(200, {}, ""), "InvalidResponse"],
  ])("that %s fails as such, with the cause and without content", async (_, fault, reason) => {
    const { clock, transport, client } = setUp();
    transport.fault = fault;
    const secret = { metadata: ref, stringData: { password: "hunter2" } };
    const error = await failure(clock, client.create(Secret, secret));
    expect(error).toMatchObject({ reason, code: 0, cause: expect.any(Error) });
    expect(error.message).toMatch(/^create Secret "n\/a": /);
    expect(`${error.message} ${error.stack}`).not.toContain("hunter2");
  });

  test("for a list without an object is answered by an empty one, also where the server writes null", async () => {
    const body = { kind: "PartialObjectMetadataList", metadata: { resourceVersion: "7" }, items: null };
    const { client } = setUp(answers(200, {}, JSON.stringify(body)));
    const empty = { items: [], resourceVersion: "7", continueToken: undefined };
    expect(await client.list(ConfigMap, { metadataOnly: true })).toEqual(empty);
  });

  test("for a list fails if the response is not a list", async () => {
    const { clock, client } = setUp(answers(200, {}, '{"kind":"ConfigMap","metadata":{"name":"a"}}'));
    expect(await failure(clock, client.list(ConfigMap))).toMatchObject({ reason: "InvalidResponse" });
  });

  test("ends with the signal of its caller", async () => {
    const { clock, client } = setUp(neverAnswers);
    const abort = new AbortController();
    const work = client.list(ConfigMap, { signal: abort.signal });
    abort.abort();
    await expect(work).rejects.toBeInstanceOf(ApiError);
    expect(clock.pending).toBe(0);
  });

  test("says who asks, and writes say who will own the fields", async () => {
    const { transport, client } = setUp();
    await client.apply(ConfigMap, { metadata: ref });
    const [request] = transport.requests;
    expect(request?.headers).toEqual({
      accept: "application/json",
      "content-type": "application/apply-patch+yaml",
      "user-agent": "unit/1",
    });
    expect(request?.path).toBe("/api/v1/namespaces/n/configmaps/a?fieldManager=me&force=true");
    expect(JSON.parse(request?.body ?? "")).toEqual({ apiVersion: "v1", kind: "ConfigMap", metadata: ref });
  });

  test("is counted by verb and code once its outcome is known; 0 when no answer came", async () => {
    const { clock, transport, client, reported } = setUp();
    await client.create(ConfigMap, { metadata: ref });
    await client.apply(ConfigMap, { metadata: ref });
    await client.mergePatch(ConfigMap, ref, {});
    await client.get(ConfigMap, ref);
    await client.list(ConfigMap);
    await client.delete(ConfigMap, ref);
    await failure(clock, client.get(ConfigMap, ref));
    transport.fault = offline;
    await failure(clock, client.get(ConfigMap, ref));
    expect(reported).toEqual([
      "create 201",
      "apply 200",
      "patch 200",
      "get 200",
      "list 200",
      "delete 200",
      "get 404",
      "get 0",
      "get 0",
    ]);
  });

  test("leaves no timer behind", async () => {
    const { clock, client } = setUp();
    await client.create(ConfigMap, { metadata: ref });
    await client.get(ConfigMap, { ...ref, name: "missing" }).catch(() => undefined);
    expect(clock.pending).toBe(0);
  });
});

describe("a watch", () => {
  async function drain(events: AsyncIterable<unknown>): Promise<number> {
    let count = 0;
    for await (const _ of events) count++;
    return count;
  }

  test("must be answered within half a minute", async () => {
    const { clock, client } = setUp(neverAnswers);
    const error = await failure(clock, drain(client.watch(ConfigMap, watchOptions)));
    expect(error.message).toBe("watch ConfigMap: no response within 30000 ms");
  });

  test("may last longer than that, but not be silent for longer than its limit", async () => {
    const { clock, api, client } = setUp();
    const options = { timeoutSeconds: 600, idleTimeoutMs: 45_000 };
    const error = await failure(clock, drain(client.watch(ConfigMap, options)));
    expect(error).toMatchObject({ reason: "Timeout", message: "watch was silent for 45000 ms" });
    expect([api.openWatches, clock.pending]).toEqual([0, 0]);
  });

  test("is closed when its reader leaves", async () => {
    const { clock, api, client } = setUp();
    await client.create(ConfigMap, { metadata: ref });
    for await (const _ of client.watch(ConfigMap, watchOptions)) break;
    expect([api.openWatches, clock.pending]).toEqual([0, 0]);
  });

  test("is counted when it is answered", async () => {
    const { clock, client, reported } = setUp(answers(403));
    await failure(clock, drain(client.watch(ConfigMap, watchOptions)));
    expect(reported).toEqual(["watch 403"]);
  });
});

describe("a delete", () => {
  const pod = (metadata: object) => JSON.stringify({ kind: "Pod", metadata: { name: "a", ...metadata } });

  test("of a pod that may still end its work gives the pod, which is not gone", async () => {
    const ending = { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 };
    const { client } = setUp(answers(200, {}, pod(ending)));
    expect(await client.delete(Pod, ref)).toMatchObject({ metadata: ending });
  });

  test("that is answered with what was removed gives nothing", async () => {
    const { client } = setUp(answers(200, {}, pod({ deletionGracePeriodSeconds: 0 })));
    expect(await client.delete(Pod, ref)).toBeUndefined();
  });
});

describe("an API server that requests a pause", () => {
  const throttled = (seconds: number, status = 429) => answers(status, { "retry-after": String(seconds) });

  test.each([
    ["a read", (client: HttpClient) => client.get(ConfigMap, ref)],
    ["a create", (client: HttpClient) => client.create(ConfigMap, { metadata: { ...ref, name: "b" } })],
  ])("gets it, and then %s again", async (_, send) => {
    for (const status of [429, 503]) {
      const { clock, transport, client } = setUp();
      await client.create(ConfigMap, { metadata: ref });
      transport.fault = times(2, throttled(3, status));
      const startedAt = clock.monotonic();
      const answered = send(client).then(() => clock.monotonic() - startedAt);
      await clock.advance(10_000);
      expect(await answered).toBe(9_000);
    }
  });

  test("gets it from all requests and watches of the client, those behind its fence included", async () => {
    const { clock, transport, client, reported } = setUp();
    await client.create(ConfigMap, { metadata: ref });
    const fenced = client.fencedBy(unfenced);
    transport.fault = times(1, throttled(5));
    const first = client.get(ConfigMap, ref);
    await clock.advance(0);
    reported.length = 0;
    const requests = [first, fenced.mergePatch(ConfigMap, ref, {}), client.list(ConfigMap)];
    const watch = client.watch(ConfigMap, watchOptions)[Symbol.asyncIterator]();
    void watch.next().catch(() => undefined);
    await clock.advance(4_999);
    expect(reported).toEqual([]);
    await clock.advance(1);
    await Promise.all(requests);
    expect(reported.toSorted()).toEqual(["get 200", "list 200", "patch 200", "watch 200"]);
    await watch.return?.(undefined);
  });

  test("counts once for requests that it refuses together, and again after it has served one", async () => {
    const { clock, transport, client } = setUp();
    await client.create(ConfigMap, { metadata: ref });
    const send = () => client.get(ConfigMap, ref).then(() => clock.monotonic());
    for (const startedAt of [0, 10_000]) {
      transport.fault = times(5, throttled(1));
      const answered = Promise.all(Array.from({ length: 5 }, send));
      await clock.advance(10_000);
      expect(new Set(await answered)).toEqual(new Set([startedAt + 1_000]));
    }
  });

  test("gets no longer pause than a client allows, regardless of its length and number", async () => {
    const { clock, transport, client } = setUp(undefined, { maxPauseMs: 2_000 });
    await client.create(ConfigMap, { metadata: ref });
    transport.fault = times(3, throttled(15, 503));
    const startedAt = clock.monotonic();
    const answered = client.get(ConfigMap, ref).then(() => clock.monotonic() - startedAt);
    await clock.advance(30_000);
    expect(await answered).toBe(6_000);
  });

  test("beyond the deadline of a request fails it at once, and others before they are sent", async () => {
    const { clock, client, reported } = setUp(throttled(3_600));
    const send = () => client.get(ConfigMap, ref).catch((error: unknown) => error);
    const first = send();
    await clock.advance(0);
    expect(await first).toMatchObject({ code: 429, retryAfter: 60_000 });
    await clock.advance(1_000);
    expect(await send()).toMatchObject({ reason: "TooManyRequests", code: 0, retryAfter: 59_000 });
    expect(reported).toEqual(["get 429"]);
  });

  test("of zero seconds, repeatedly, backs off", async () => {
    const { clock, client, reported } = setUp(throttled(0));
    expect(await failure(clock, client.get(ConfigMap, ref))).toMatchObject({ code: 429 });
    expect(reported).toHaveLength(9);
  });

  test("without saying for how long is not asked again", async () => {
    const { clock, client, reported } = setUp(answers(503));
    expect(await failure(clock, client.get(ConfigMap, ref))).toMatchObject({ code: 503 });
    expect(reported).toHaveLength(1);
  });
});

describe("a connection that breaks", () => {
  const guard = { metadata: { resourceVersion: "1" } };
  const guarded = [{ op: "test", path: "/metadata/uid", value: "u" }] as const;

  test.each<[string, (client: HttpClient) => Promise<unknown>]>([
    ["a get", (client) => client.get(ConfigMap, ref)],
    ["a list", (client) => client.list(ConfigMap)],
    ["an apply", (client) => client.apply(ConfigMap, { metadata: ref })],
    ["a patch of one version", (client) => client.mergePatch(ConfigMap, ref, guard)],
    ["a status of one version", (client) => client.patchStatus(ConfigMap, ref, guard)],
    ["a patch with a test", (client) => client.jsonPatch(ConfigMap, ref, guarded)],
    ["a delete of one incarnation", (client) => client.delete(ConfigMap, ref, { uid: "u" })],
  ])("is retried once for %s", async (_, send) => {
    const { clock, client, reported } = setUp(offline);
    expect(await failure(clock, send(client))).toMatchObject({ reason: "Unreachable" });
    expect(reported).toHaveLength(2);
  });

  test.each<[string, (client: HttpClient) => Promise<unknown>]>([
    ["a create", (client) => client.create(ConfigMap, { metadata: ref })],
    ["a patch of any version", (client) => client.mergePatch(ConfigMap, ref, {})],
    ["a patch without a test", (client) => client.jsonPatch(ConfigMap, ref, [])],
    ["a delete of any incarnation", (client) => client.delete(ConfigMap, ref)],
  ])("is not tried again for %s, which might happen twice", async (_, send) => {
    const { clock, client, reported } = setUp(offline);
    expect(await failure(clock, send(client))).toMatchObject({ reason: "Unreachable" });
    expect(reported).toHaveLength(1);
  });

  test("reaches no caller if the next connection works, also during a response", async () => {
    for (const fault of [offline, cutAfter(10)]) {
      const { transport, client } = setUp();
      await client.create(ConfigMap, { metadata: ref });
      transport.fault = times(1, fault);
      expect((await client.get(ConfigMap, ref)).metadata.name).toBe("a");
    }
  });
});
