import { describe, expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import { answers, FaultyTransport, offline, times, when } from "../../testing/faulty-transport.ts";
import { silentLog } from "../../testing/stub-client.ts";
import { HttpClient } from "../client/http-client.ts";
import { ConfigMap, CustomResourceDefinition, kind } from "../kinds.ts";
import type { KubeObject } from "../object.ts";
import type { CacheEnvironment } from "./cache.ts";
import { Caches } from "./caches.ts";

const Gateway = kind<KubeObject>("example.com/v1", { kind: "Gateway", plural: "gateways" });

function setUp(options: Partial<CacheEnvironment> = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  const transport = new FaultyTransport(api);
  const client = new HttpClient({ transport, clock, fieldManager: "test", userAgent: "test" });
  const retries: string[] = [];
  const warnings: unknown[] = [];
  const caches = new Caches({
    client,
    clock,
    random: () => 0.5,
    log: { ...silentLog, warn: (message, fields) => warnings.push(message, fields) },
    namespaces: [],
    onWatchRetry: (kind, reason) => retries.push(`${kind} ${reason}`),
    ...options,
  });
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const run = () => {
    for (const cache of caches.all()) void cache.run(abort.signal);
  };
  return { clock, api, transport, caches, run, retries, warnings, writer: caches.writeThrough(client) };
}

/** From now on only own writes change a cache. */
function stopWatching(transport: FaultyTransport): void {
  transport.fault = when(({ path }) => path.includes("watch=true"), offline);
  transport.cutWatches();
}

const configMap = (name: string, namespace = "n") => ({ metadata: { namespace, name } });

describe("synced", () => {
  test("is said once every namespace in scope is listed", async () => {
    const { clock, transport, caches, run } = setUp({ namespaces: ["one", "two"] });
    const cache = caches.define(ConfigMap);
    transport.fault = times(1, offline);
    run();
    let resolved = false;
    void cache.whenSynced().then(() => (resolved = true));
    await clock.advance(0);
    expect([cache.synced, resolved]).toEqual([false, false]);
    await clock.advance(1_000);
    expect([cache.synced, resolved]).toEqual([true, true]);
    await cache.whenSynced();
  });

  test("is said of an optional kind that the cluster lacks, which is rarely requested while it is not used", async () => {
    const { clock, api, transport, caches, run, retries } = setUp();
    const cache = caches.define(Gateway, { optional: true });
    run();
    await clock.advance(0);
    expect([cache.synced, cache.available]).toEqual([true, false]);
    await clock.advance(60 * 60_000);
    expect(retries).toEqual([]);
    expect(transport.requests.length).toBeLessThan(10);
    api.install(Gateway);
    await api.client().create(Gateway, { metadata: { namespace: "n", name: "g" } });
    await clock.advance(11 * 60_000);
    expect(cache.get("n/g")).toBeDefined();
  });

  test("includes a missing optional kind, which is available within seconds of its installation if it is in use", async () => {
    const { clock, api, transport, caches, run } = setUp();
    const cache = caches.define(Gateway, { optional: true });
    run();
    const useFor = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        cache.markInUse();
        await clock.advance(1_000);
      }
    };
    await useFor(600);
    // Regardless of the number of `markInUse` calls.
    expect(transport.requests.length).toBeLessThan(300);
    api.install(Gateway);
    await api.client().create(Gateway, { metadata: { namespace: "n", name: "g" } });
    await useFor(5);
    expect([cache.available, cache.get("n/g")?.metadata.name]).toEqual([true, "g"]);
  });

  test("loses its objects with the kind, and finds those that are made after its return", async () => {
    const { clock, api, transport, caches, run } = setUp();
    api.install(Gateway);
    await api.client().create(Gateway, { metadata: { namespace: "n", name: "g" } });
    const cache = caches.define(Gateway, { optional: true });
    run();
    await clock.advance(0);
    transport.fault = offline;
    transport.cutWatches();
    api.uninstall(Gateway);
    transport.fault = undefined;
    await clock.advance(10_000);
    expect([cache.available, cache.size]).toEqual([false, 0]);
    api.install(Gateway);
    await api.client().create(Gateway, { metadata: { namespace: "n", name: "h" } });
    cache.markInUse();
    await clock.advance(5_000);
    expect(cache.get("n/h")).toBeDefined();
  });

  test("is never said of another kind that the cluster lacks", async () => {
    const { clock, caches, run, warnings } = setUp();
    const cache = caches.define(Gateway);
    run();
    await clock.advance(60_000);
    expect(cache.synced).toBe(false);
    expect(warnings).toContainEqual(
      expect.objectContaining({ kind: "gateways.example.com", reason: "NotFound" }),
    );
  });

  test("is never said of an optional kind that is forbidden", async () => {
    const { clock, transport, caches, run, warnings } = setUp();
    const cache = caches.define(ConfigMap, { optional: true });
    transport.fault = answers(403);
    run();
    await clock.advance(60_000);
    expect(cache.synced).toBe(false);
    expect(warnings).toContainEqual(expect.objectContaining({ kind: "configmaps", reason: "Forbidden" }));
  });

  test("is said of a kind that may be forbidden, which is used after the right was granted", async () => {
    const { clock, api, transport, caches, run, retries, warnings } = setUp();
    const cache = caches.define(ConfigMap, { mayBeForbidden: true });
    await api.client().create(ConfigMap, configMap("a"));
    transport.fault = answers(403);
    run();
    await clock.advance(0);
    expect([cache.synced, cache.available]).toEqual([true, false]);
    await clock.advance(60 * 60_000);
    expect([retries, warnings]).toEqual([[], []]);
    expect(transport.requests.length).toBeLessThan(10);
    transport.fault = undefined;
    await clock.advance(11 * 60_000);
    expect([cache.available, cache.get("n/a")?.metadata.name]).toEqual([true, "a"]);
  });

  test("is said of a cluster-scoped kind that may be forbidden without a request, in chosen namespaces", async () => {
    const { clock, transport, caches, run } = setUp({ namespaces: ["one"] });
    const cache = caches.define(CustomResourceDefinition, { mayBeForbidden: true });
    run();
    await clock.advance(60_000);
    await cache.whenSynced();
    expect([cache.synced, cache.available, transport.requests.length]).toEqual([true, false, 0]);
  });

  test("a permission that is revoked and restored loses no object of a kind that may be forbidden", async () => {
    const { clock, api, transport, caches, run } = setUp();
    const cache = caches.define(ConfigMap, { mayBeForbidden: true });
    await api.client().create(ConfigMap, configMap("a"));
    run();
    await clock.advance(0);
    expect([cache.available, cache.size]).toEqual([true, 1]);
    transport.fault = answers(403);
    transport.cutWatches();
    await clock.advance(60_000);
    expect([cache.available, cache.size]).toEqual([false, 0]);
    transport.fault = undefined;
    await clock.advance(11 * 60_000);
    expect([cache.available, cache.size]).toEqual([true, 1]);
  });
});

describe("several namespaces", () => {
  test("are watched one by one, and nothing outside of them", async () => {
    const { clock, api, transport, caches, run, writer } = setUp({ namespaces: ["one", "two"] });
    const cache = caches.define(ConfigMap, { indexes: { name: ({ metadata }) => [metadata.name] } });
    for (const namespace of ["one", "two", "three"])
      await api.client().create(ConfigMap, configMap("a", namespace));
    run();
    await clock.advance(0);
    const paths = transport.requests.map(({ path }) => path.split("?")[0]);
    expect(paths).toEqual(["/api/v1/namespaces/one/configmaps", "/api/v1/namespaces/two/configmaps"]);
    expect([cache.size, [...cache.all()].length, cache.byIndex("name", "a").length]).toEqual([2, 2, 2]);
    expect([cache.get("one/a"), cache.get("three/a")]).toEqual([expect.anything(), undefined]);
    await writer.create(ConfigMap, configMap("b", "three"));
    expect(cache.size).toBe(2);
  });

  test("make no difference to a kind without namespaces", async () => {
    const { clock, transport, caches, run } = setUp({ namespaces: ["one", "two"] });
    caches.define(CustomResourceDefinition);
    run();
    await clock.advance(0);
    expect(transport.requests).toHaveLength(1);
  });
});

describe("writing through the caches", () => {
  const ref = { namespace: "n", name: "a" };

  test.each([
    ["create", { name: "new" }],
    ["apply", { name: "new" }],
    ["mergePatch", { name: "a" }],
    ["jsonPatch", { name: "a" }],
  ] as const)("%s shows its result before the watch does", async (verb, { name }) => {
    const { clock, transport, caches, run, writer } = setUp();
    const cache = caches.define(ConfigMap);
    await writer.create(ConfigMap, configMap("a"));
    run();
    await clock.advance(0);
    stopWatching(transport);
    const writes = {
      create: () => writer.create(ConfigMap, configMap("new")),
      apply: () => writer.apply(ConfigMap, configMap("new")),
      mergePatch: () => writer.mergePatch(ConfigMap, ref, { data: { a: "1" } }),
      jsonPatch: () => writer.jsonPatch(ConfigMap, ref, [{ op: "add", path: "/data", value: { a: "1" } }]),
    };
    const { metadata } = await writes[verb]();
    expect(cache.get(`n/${name}`)?.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  test("a status is shown too", async () => {
    const { api, caches, writer } = setUp();
    api.install(Gateway);
    const cache = caches.define(Gateway);
    await writer.create(Gateway, { metadata: ref });
    await writer.patchStatus(Gateway, ref, { status: { ready: true } });
    expect(cache.get("n/a")).toMatchObject({ status: { ready: true } });
  });

  test("a deletion is shown at once: as gone, or as going while finalizers hold it", async () => {
    const { caches, writer } = setUp();
    const cache = caches.define(ConfigMap);
    await writer.create(ConfigMap, configMap("a"));
    await writer.delete(ConfigMap, ref);
    expect(cache.get("n/a")).toBeUndefined();
    await writer.create(ConfigMap, { metadata: { ...ref, finalizers: ["example.com/hold"] } });
    await writer.delete(ConfigMap, ref);
    expect(cache.get("n/a")?.metadata.deletionTimestamp).toBeDefined();
  });

  test("removing the last finalizer of a deleted object shows it as gone at once", async () => {
    const { clock, transport, caches, run, writer } = setUp();
    const cache = caches.define(ConfigMap);
    await writer.create(ConfigMap, { metadata: { ...ref, finalizers: ["example.com/hold"] } });
    await writer.delete(ConfigMap, ref);
    run();
    await clock.advance(0);
    stopWatching(transport);
    const released = writer.mergePatch(ConfigMap, ref, { metadata: { finalizers: [] } });
    await expect(released).resolves.toMatchObject({ metadata: { name: "a" } });
    expect(cache.get("n/a")).toBeUndefined();
  });

  test("reads go to the server", async () => {
    const { caches, writer, api } = setUp();
    caches.define(ConfigMap);
    await api.client().create(ConfigMap, configMap("a"));
    expect((await writer.get(ConfigMap, ref)).metadata.name).toBe("a");
    expect((await writer.list(ConfigMap)).items).toHaveLength(1);
  });
});

test("a cache drops managedFields and the fields that its transform drops", async () => {
  const { clock, api, caches, run } = setUp();
  api.install(Gateway);
  const cache = caches.define(ConfigMap);
  const bare = caches.define(Gateway, {
    transform: ({ metadata: { labels: _, ...metadata } }) => ({ metadata }),
  });
  await api.client().create(ConfigMap, { ...configMap("a"), data: { a: "1" } });
  await api.client().apply(Gateway, { metadata: { namespace: "n", name: "g", labels: { a: "1" } } });
  run();
  await clock.advance(0);
  expect(cache.get("n/a")).toMatchObject({ data: { a: "1" } });
  expect(cache.get("n/a")?.metadata.managedFields).toBeUndefined();
  expect(Object.keys(bare.get("n/g") ?? {})).toEqual(["metadata"]);
  expect(bare.get("n/g")?.metadata).not.toHaveProperty("labels");
  expect(bare.get("n/g")?.metadata).not.toHaveProperty("managedFields");
});

test("each failure of a watch is counted by kind and reason", async () => {
  const { clock, transport, caches, run, retries } = setUp();
  caches.define(ConfigMap);
  transport.fault = times(2, answers(503));
  run();
  await clock.advance(5_000);
  expect(retries).toEqual(["configmaps ServiceUnavailable", "configmaps ServiceUnavailable"]);
});

test("a kind has one cache, and what is not watched cannot be read", () => {
  const { caches } = setUp();
  const cache = caches.define(ConfigMap, { labelSelector: "a=b" });
  expect(caches.define(ConfigMap)).toBe(cache);
  expect(caches.of(ConfigMap)).toBe(cache);
  expect(() => caches.define(ConfigMap, {})).toThrow("the cache of configmaps is already defined");
  expect(() => caches.of(Gateway)).toThrow("no controller watches gateways.example.com");
});
