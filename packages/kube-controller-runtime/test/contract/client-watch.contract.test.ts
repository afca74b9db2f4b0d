import { ApiError, ConfigMap, isNotFound, type Kind, type KubeObject, refOf } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { beforeAll, expect, test } from "vitest";
import type { WatchEvent, WatchOptions } from "../../src/client/client.ts";
import { type ApiUnderTest, contract, newWidgetKind } from "./api-under-test.ts";
import { collect, failure, namespaceOfThree } from "./support.ts";

/** A real API server may be busy. */
const TIME_LIMIT = { withinMs: 20_000 };

contract("a watch", (api) => {
  let namespace: string;
  beforeAll(async () => {
    namespace = await api().newNamespace();
  });

  const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
    metadata: { namespace, name },
    data,
  });

  test("reports every change after a version, in order, with the versions of the writes", async () => {
    const { resourceVersion } = await api().client.list(ConfigMap, { namespace });
    const created = await api().other.create(ConfigMap, configMap("watched"));
    const changed = await api().other.mergePatch(ConfigMap, refOf(created), { data: { a: "1" } });
    await api().other.delete(ConfigMap, refOf(created));
    await using watch = observe(api(), ConfigMap, { namespace, resourceVersion });
    await eventually(
      () => expect(watch.seen).toEqual(["ADDED watched", "MODIFIED watched", "DELETED watched"]),
      TIME_LIMIT,
    );
    const [added, modified, deleted] = watch.events.map(({ object }) => object);
    expect(added).toEqual(created);
    expect(modified).toEqual(changed);
    expect(Number(deleted?.metadata.resourceVersion)).toBeGreaterThan(
      Number(changed.metadata.resourceVersion),
    );
  });

  test("reports changes that happen while it is open", async () => {
    const { resourceVersion } = await api().client.list(ConfigMap, { namespace });
    await using watch = observe(api(), ConfigMap, { namespace, resourceVersion });
    await api().other.create(ConfigMap, configMap("live"));
    await eventually(() => expect(watch.seen).toEqual(["ADDED live"]), TIME_LIMIT);
  });

  test("an object that starts or stops matching is added or deleted, the latter with the version of the change", async () => {
    const { resourceVersion } = await api().client.list(ConfigMap, { namespace });
    const ref = refOf(await api().other.create(ConfigMap, configMap("mover")));
    const selection = { namespace, labelSelector: "here=yes", resourceVersion };
    await using watch = observe(api(), ConfigMap, selection);
    await api().other.mergePatch(ConfigMap, ref, { metadata: { labels: { here: "yes" } } });
    const left = await api().other.mergePatch(ConfigMap, ref, { metadata: { labels: null } });
    await eventually(() => expect(watch.seen).toEqual(["ADDED mover", "DELETED mover"]), TIME_LIMIT);
    expect(watch.events[1]?.object.metadata.resourceVersion).toBe(left.metadata.resourceVersion);
  });

  // Kubernetes 1.30 does not support streaming lists; all other tests show that watches work without them.
  test.skipIf(process.env.KUBE_VERSION?.startsWith("1.30."))(
    "can stream the present state first, and says where it ends",
    async () => {
      const streamed = await namespaceOfThree(api());
      const options = { namespace: streamed, labelSelector: "!system,team", sendInitialEvents: true };
      await using watch = observe(api(), ConfigMap, options);
      await eventually(() => expect(watch.events).toHaveLength(3), TIME_LIMIT);
      expect(watch.seen.slice(0, 2).sort()).toEqual(["ADDED one", "ADDED two"]);
      const end = watch.events[2];
      expect(end?.type).toBe("BOOKMARK");
      expect(end?.object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
      await api().other.mergePatch(ConfigMap, { namespace: streamed, name: "one" }, { data: { a: "1" } });
      // A bookmark may follow the change.
      await eventually(() => expect(watch.seen).toContain("MODIFIED one"), TIME_LIMIT);
    },
  );

  test("of metadata alone carries no content", async () => {
    const { resourceVersion } = await api().client.list(ConfigMap, { namespace });
    await using watch = observe(api(), ConfigMap, { namespace, resourceVersion, metadataOnly: true });
    await api().other.create(ConfigMap, configMap("light-watch", { secret: "content" }));
    await eventually(() => expect(watch.seen).toEqual(["ADDED light-watch"]), TIME_LIMIT);
    expect(JSON.stringify(watch.events)).not.toContain("content");
  });

  test("ends at its timeout", async () => {
    const { resourceVersion } = await api().client.list(ConfigMap, { namespace });
    const options = { namespace, resourceVersion, timeoutSeconds: 1, idleTimeoutMs: 60_000 };
    const events = await collect(api().client.watch(ConfigMap, options));
    expect(events.filter(({ type }) => type !== "BOOKMARK")).toEqual([]);
  });

  test("of a kind that the server does not serve is NotFound", async () => {
    const options = { timeoutSeconds: 60, idleTimeoutMs: 60_000 };
    expect(isNotFound(await failure(collect(api().client.watch(newWidgetKind(), options))))).toBe(true);
  });

  test("is broken off with the reader's signal", async () => {
    const abort = new AbortController();
    const options = { namespace, timeoutSeconds: 60, idleTimeoutMs: 60_000, signal: abort.signal };
    const end = failure(collect(api().client.watch(ConfigMap, options)));
    await eventually(() => expect(api().transport.openWatches).toBeGreaterThan(0), TIME_LIMIT);
    abort.abort();
    expect(await end).toBeInstanceOf(ApiError);
  });
});

/** Reads a watch in the background until it is disposed. */
function observe<T extends KubeObject>(
  api: ApiUnderTest,
  kind: Kind<T>,
  options: Partial<WatchOptions>,
): AsyncDisposable & { readonly events: WatchEvent<T>[]; readonly seen: string[] } {
  const events: WatchEvent<T>[] = [];
  const abort = new AbortController();
  const limits = { timeoutSeconds: 60, idleTimeoutMs: 60_000, signal: abort.signal };
  const reading = (async () => {
    for await (const event of api.client.watch(kind, { ...limits, ...options })) events.push(event);
  })().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });
  return {
    events,
    get seen() {
      return events.map(({ type, object }) => `${type} ${object.metadata.name}`);
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await reading;
    },
  };
}
