import { type Change, ConfigMap, type Kind, type KubeObject, systemClock } from "kube-controller-runtime";
import {
  answers,
  eventually,
  type Fault,
  offline,
  silentLog,
  times,
  when,
} from "kube-controller-runtime/testing";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { CacheEnvironment, CacheOptions } from "../../src/cache/cache.ts";
import { Caches } from "../../src/cache/caches.ts";
import { contract, newWidgetKind } from "./api-under-test.ts";

const soon = { withinMs: 20_000 };

contract("a cache", (api) => {
  let namespace: string;
  beforeEach(async () => {
    namespace = await api().newNamespace();
    api().transport.fault = undefined;
  });

  const ref = (name: string) => ({ namespace, name });
  const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
    metadata: { ...ref(name), labels: { cached: "yes" } },
    data,
  });

  function start<T extends KubeObject>(
    kind: Kind<T>,
    options: CacheOptions<T>,
    environment: Partial<CacheEnvironment> = {},
  ) {
    const { client } = api();
    const timing = { retryBaseMs: 20, retryCapMs: 200 };
    const shared = { client, clock: systemClock, random: Math.random, log: silentLog, timing };
    const caches = new Caches({ ...shared, namespaces: [namespace], ...environment });
    const cache = caches.define(kind, options);
    const changes: Change<T>[] = [];
    cache.onChange((change) => changes.push(change));
    const abort = new AbortController();
    const running = cache.run(abort.signal);
    onTestFinished(async () => {
      abort.abort();
      await running;
    });
    return { cache, changes, writer: caches.writeThrough(client) };
  }

  async function startSynced(options: CacheOptions<ConfigMap> = {}) {
    const started = start(ConfigMap, { labelSelector: "cached=yes", ...options });
    await started.cache.whenSynced();
    return started;
  }

  test("shows an own write immediately and never older state, however fast the writes are", async () => {
    const { cache, changes, writer } = await startSynced();
    for (let write = 0; write < 30; write++) {
      const written = await writer.apply(ConfigMap, configMap("a", { write: String(write) }));
      const seen = cache.get(`${namespace}/a`)?.metadata.resourceVersion;
      expect(Number(seen)).toBeGreaterThanOrEqual(Number(written.metadata.resourceVersion));
    }
    await api().other.mergePatch(ConfigMap, ref("a"), { data: { write: "theirs" } });
    await eventually(() => expect(cache.get(`${namespace}/a`)?.data?.write).toBe("theirs"), soon);
    const versions = changes.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  test("shows an own deletion at once, also of what was made a moment ago, and it does not come back", async () => {
    const { cache, changes, writer } = await startSynced();
    for (let round = 0; round < 15; round++) {
      await writer.create(ConfigMap, configMap("a"));
      expect(cache.get(`${namespace}/a`)).toBeDefined();
      await writer.delete(ConfigMap, ref("a"));
      expect(cache.get(`${namespace}/a`)).toBeUndefined();
    }
    await api().other.create(ConfigMap, configMap("end"));
    await eventually(() => expect(cache.get(`${namespace}/end`)).toBeDefined(), soon);
    expect(cache.size).toBe(1);
    const kinds = changes.map(({ type }) => type);
    expect(kinds).toEqual([...Array.from({ length: 15 }, () => ["added", "deleted"]).flat(), "added"]);
  });

  test("does not bring back what was deleted while the answer to our write was on its way", async () => {
    const { cache, writer } = await startSynced();
    await writer.create(ConfigMap, configMap("a"));
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const answered: string[] = [];
    const late: Fault = async (request, pass) => {
      const response = await pass();
      answered.push(request.method);
      await released;
      return response;
    };
    api().transport.fault = when(({ method }) => method === "PATCH", late);
    const writing = writer.mergePatch(ConfigMap, ref("a"), { data: { late: "yes" } });
    await eventually(() => expect(answered).toEqual(["PATCH"]), soon);
    await api().other.delete(ConfigMap, ref("a"));
    await eventually(() => expect(cache.get(`${namespace}/a`)).toBeUndefined(), soon);
    release();
    await writing;
    expect(cache.get(`${namespace}/a`)).toBeUndefined();
  });

  test("shows an object as gone when we remove its last finalizer", async () => {
    const { cache, writer } = await startSynced();
    const { metadata } = configMap("a");
    await writer.create(ConfigMap, { metadata: { ...metadata, finalizers: ["example.com/hold"] } });
    const remains = await writer.delete(ConfigMap, ref("a"));
    expect(cache.get(`${namespace}/a`)?.metadata.deletionTimestamp).toBe(remains?.metadata.deletionTimestamp);
    await writer.mergePatch(ConfigMap, ref("a"), { metadata: { finalizers: [] } });
    expect(cache.get(`${namespace}/a`)).toBeUndefined();
  });

  test("replaces its content by a new list in one step, before it reports any change", async () => {
    const { cache } = await startSynced();
    for (const name of ["a", "b"]) await api().other.create(ConfigMap, configMap(name));
    await eventually(() => expect(cache.size).toBe(2), soon);
    const sizes = new Set<number>();
    cache.onChange(({ fromList }) => fromList && sizes.add(cache.size));
    api().transport.fault = offline;
    api().transport.cutWatches();
    for (const name of ["a", "b"]) await api().other.delete(ConfigMap, ref(name));
    for (const name of ["c", "d", "e"]) await api().other.create(ConfigMap, configMap(name));
    const isResume = ({ path }: { path: string }) =>
      path.includes("watch=true") && path.includes("resourceVersion=");
    api().transport.fault = when(isResume, times(1, answers(410)));
    await eventually(() => expect(cache.size).toBe(3), soon);
    expect([...sizes]).toEqual([3]);
  });

  test("finds objects by what they say now", async () => {
    const { cache } = await startSynced({ indexes: { team: ({ data }) => (data?.team ? [data.team] : []) } });
    await api().other.create(ConfigMap, configMap("a", { team: "red" }));
    const found = (team: string) => cache.byIndex("team", team).map(({ metadata }) => metadata.name);
    await eventually(() => expect(found("red")).toEqual(["a"]), soon);
    await api().other.mergePatch(ConfigMap, ref("a"), { data: { team: "blue" } });
    await eventually(() => expect([found("red"), found("blue")]).toEqual([[], ["a"]]), soon);
    await api().other.delete(ConfigMap, ref("a"));
    await eventually(() => expect(found("blue")).toEqual([]), soon);
  });

  test("contains only the namespaces in its scope", async () => {
    const others = [await api().newNamespace(), await api().newNamespace()] as const;
    const namespaces = [namespace, others[0]];
    const { cache } = start(ConfigMap, { labelSelector: "cached=yes" }, { namespaces });
    for (const each of [...others, namespace]) {
      await api().other.create(ConfigMap, { metadata: { ...configMap("a").metadata, namespace: each } });
    }
    await eventually(() => expect(cache.size).toBe(2), soon);
    expect([...cache.all()].map(({ metadata }) => metadata.namespace).sort()).toEqual(namespaces.sort());
  });

  test("counts a missing optional kind as synced, uses it once it is installed and in use, and follows it through a reinstallation", async () => {
    const Widget = newWidgetKind();
    const { cache } = start(Widget, { optional: true });
    await cache.whenSynced();
    expect(cache.size).toBe(0);
    await api().install(Widget);
    await api().other.create(Widget, { metadata: ref("a") });
    await eventually(() => {
      cache.markInUse();
      expect(cache.get(`${namespace}/a`)).toBeDefined();
    }, soon);
    api().transport.fault = offline;
    api().transport.cutWatches();
    await api().uninstall(Widget);
    await api().install(Widget);
    await api().other.create(Widget, { metadata: ref("b") });
    api().transport.fault = undefined;
    await eventually(() => {
      cache.markInUse();
      expect([...cache.all()].map(({ metadata }) => metadata.name)).toEqual(["b"]);
    }, soon);
  });
});
