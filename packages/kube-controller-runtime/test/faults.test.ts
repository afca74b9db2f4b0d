import { setTimeout as sleep } from "node:timers/promises";
import { type Client, ConfigMap } from "kube-controller-runtime";
import { adminClient, eventually, type LocalCluster, startCluster } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FaultProxy, type ProxyFault, startFaultProxy } from "../../../test/support/fault-proxy.ts";
import { Load } from "./faults/load.ts";
import { ObservedCache, stateOf } from "./faults/observed-cache.ts";

/** Long enough for hundreds of requests of a client that does not wait between two. */
const FAULT_MS = 3_000;
const soon = { withinMs: 20_000 };

let cluster: LocalCluster;
let direct: Client;

beforeAll(async () => {
  cluster = await startCluster();
  direct = await adminClient(cluster);
});
afterAll(() => cluster?.stop());

/** A namespace under constant change, and a proxy between its caches and the API server. */
class Scene implements AsyncDisposable {
  readonly proxy: FaultProxy;
  readonly namespace: string;
  readonly load: Load;
  readonly #caches: ObservedCache[] = [];

  private constructor(proxy: FaultProxy, namespace: string) {
    this.proxy = proxy;
    this.namespace = namespace;
    this.load = new Load(direct, namespace);
  }

  static async set(): Promise<Scene> {
    const scene = new Scene(await startFaultProxy(cluster), await cluster.createNamespace("faults"));
    await scene.load.writes(10);
    return scene;
  }

  async startCache(): Promise<ObservedCache> {
    const kubeconfig = this.proxy.kubeconfig({ token: cluster.admin.token });
    const observed = await ObservedCache.start(kubeconfig, this.namespace);
    this.#caches.push(observed);
    return observed;
  }

  async syncedCache(): Promise<ObservedCache> {
    const observed = await this.startCache();
    await observed.cache.whenSynced();
    await this.load.writes(5);
    return observed;
  }

  /** The number of requests at the proxy during the work. */
  async requestsDuring(work: () => Promise<unknown>): Promise<number> {
    const before = this.proxy.requests.length;
    await work();
    return this.proxy.requests.length - before;
  }

  /** Ends the load and waits until the cache holds the state of the server. */
  async expectTruth(observed: ObservedCache): Promise<void> {
    await this.load.stop();
    const truth = await stateOf(direct, this.namespace);
    await eventually(() => expect(observed.state).toEqual(truth), soon);
    observed.expectOrder();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.load.stop();
    for (const cache of this.#caches) await cache[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
  }
}

describe.concurrent.each([
  ["stalls silently", { do: "stall" }, 8],
  ["cuts every body in the middle of an event", { do: "cut" }, 20],
  ["drips one byte a second", { do: "drip", everyMs: 1_000 }, 8],
  ["answers 429 and asks for two seconds", { do: "answer", status: 429, headers: { "retry-after": "2" } }, 4],
  ["answers 500", { do: "answer", status: 500 }, 20],
  ["refuses connections", { do: "refuse" }, 20],
] satisfies [string, ProxyFault, number][])("when the network %s", (_, fault, mostRequests) => {
  test("a running cache backs off, and then receives every change exactly once and in order", async () => {
    await using scene = await Scene.set();
    const { proxy, load } = scene;
    const observed = await scene.syncedCache();
    const known = observed.heard.length;
    const from = load.log.lastIndexOf(observed.heard.at(-1) ?? "") + 1;
    proxy.fault = fault;
    // Faults that respond without the server only affect new requests.
    if (fault.do === "answer" || fault.do === "refuse") proxy.disconnect();
    expect(await scene.requestsDuring(() => sleep(FAULT_MS))).toBeLessThanOrEqual(mostRequests);
    proxy.fault = undefined;
    await load.writes(20);
    await scene.expectTruth(observed);
    expect(observed.heard.slice(known)).toEqual(load.log.slice(from));
  });

  test("a cache that starts during the fault backs off, and is current soon after it", async () => {
    await using scene = await Scene.set();
    scene.proxy.fault = fault;
    const observed = await scene.startCache();
    expect(await scene.requestsDuring(() => sleep(FAULT_MS))).toBeLessThanOrEqual(mostRequests);
    scene.proxy.fault = undefined;
    await eventually(() => expect(observed.cache.synced).toBe(true), soon);
    await scene.expectTruth(observed);
  });
});

describe("when the API server", () => {
  test("is killed and started again under load, a cache has the truth soon after", async () => {
    await using scene = await Scene.set();
    const observed = await scene.syncedCache();
    const requests = await scene.requestsDuring(async () => {
      await cluster.stopApiServer("SIGKILL");
      await sleep(2_000);
      await cluster.startApiServer();
    });
    expect(requests).toBeLessThan(40);
    await scene.load.writes(20);
    await scene.expectTruth(observed);
  });

  test("is stopped and started again politely, a cache has the truth soon after", async () => {
    await using scene = await Scene.set();
    const observed = await scene.syncedCache();
    expect(await scene.requestsDuring(() => cluster.restartApiServer())).toBeLessThan(40);
    await scene.load.writes(20);
    await scene.expectTruth(observed);
  });

  test("freezes, a cache tries calmly and has the truth soon after", async () => {
    await using scene = await Scene.set();
    const observed = await scene.syncedCache();
    cluster.pauseApiServer();
    const requests = await scene
      .requestsDuring(() => sleep(FAULT_MS))
      .finally(() => cluster.resumeApiServer());
    expect(requests).toBeLessThanOrEqual(8);
    await scene.load.writes(20);
    await scene.expectTruth(observed);
  });

  test("has compacted the history, a cache relists and reports each changed object once", async () => {
    await using scene = await Scene.set();
    const { proxy, namespace } = scene;
    const observed = await scene.syncedCache();
    await scene.load.stop();
    // The last write of the load may have been a deletion.
    for (const name of ["a", "b"])
      await direct.apply(ConfigMap, { metadata: { namespace, name, labels: { load: "yes" } } });
    await scene.expectTruth(observed);
    const known = observed.heard.length;
    proxy.fault = { do: "refuse" };
    proxy.disconnect();
    await direct.delete(ConfigMap, { namespace, name: "a" });
    await direct.mergePatch(ConfigMap, { namespace, name: "b" }, { data: { missed: "yes" } });
    await cluster.compactHistory();
    await cluster.stopApiServer("SIGKILL");
    await cluster.startApiServer();
    proxy.fault = undefined;
    await scene.expectTruth(observed);
    expect(observed.heard.slice(known)).toEqual(["a deleted", expect.stringMatching(/^b@/)]);
  });
});
