import { type Client, type KubeObject, keyOfObject, kind, Pod, type Stored } from "kube-controller-runtime";
import { type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";

export const TIME_LIMIT = { withinMs: 40_000 };

interface EndpointSlice extends KubeObject {
  endpoints?: { addresses: string[]; conditions?: { ready?: boolean } }[] | null;
}
const EndpointSlice = kind<EndpointSlice>("discovery.k8s.io/v1", {
  kind: "EndpointSlice",
  plural: "endpointslices",
});
const Node = kind<KubeObject>("v1", { kind: "Node", plural: "nodes", namespaced: false });
const Binding = kind<KubeObject & { target: object }>("v1", { kind: "Binding", plural: "bindings" });

/** Plays scheduler and kubelet for the pods of a namespace, and records who serves its Service `coder`. */
export class Serving {
  readonly #cluster: ClusterAccess;
  readonly #person: Client;
  readonly #namespace: string;
  readonly #stop = new AbortController();
  readonly #slices = new Map<string, Stored<EndpointSlice>>();
  readonly #ready: number[] = [];
  #addresses = 0;

  constructor(cluster: ClusterAccess, person: Client, namespace: string) {
    this.#cluster = cluster;
    this.#person = person;
    this.#namespace = namespace;
  }

  /** Endpoints are made for pods of a node that exists. */
  async begin(): Promise<void> {
    await this.#person.create(Node, { metadata: { name: this.#namespace } });
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#person.delete(Node, { name: this.#namespace });
  }

  /** The pods get a node, addresses and are ready. */
  async podsAreReady(labelSelector: string, count = 1): Promise<void> {
    const [namespace, person] = [this.#namespace, this.#person];
    await eventually(async () => {
      const { items } = await person.list(Pod, { namespace, labelSelector });
      expect(items.length).toBeGreaterThanOrEqual(count);
      for (const { metadata, spec, status: present } of items) {
        const target = { apiVersion: "v1", kind: "Node", name: namespace };
        if (!spec?.nodeName)
          await person.create(Binding, { metadata: { namespace, name: metadata.name }, target });
        if (present?.podIP) continue;
        const podIP = `10.9.0.${++this.#addresses}`;
        const status = { podIP, podIPs: [{ ip: podIP }] };
        await person.patchStatus(Pod, { namespace, name: metadata.name }, { status });
      }
    }, TIME_LIMIT);
    await this.#cluster.markPodsReady(namespace, labelSelector);
  }

  /** Records from now on, when the Service has an endpoint; no change is missed. */
  async follow(): Promise<void> {
    await eventually(async () => expect(readyIn((await this.#list()).items)).toBeGreaterThan(0), TIME_LIMIT);
    const { items, resourceVersion } = await this.#list();
    for (const slice of items) this.#slices.set(keyOfObject(slice), slice);
    this.#ready.push(readyIn(items));
    this.#watch(resourceVersion).catch((error) => {
      if (!this.#stop.signal.aborted) throw error;
    });
  }

  /** The addresses that serve, by what the watch has shown: a list may be ahead of it. */
  get addresses(): string[] {
    return [...this.#slices.values()]
      .flatMap(({ endpoints }) => endpoints ?? [])
      .flatMap(({ addresses }) => addresses);
  }

  /** The smallest number of ready endpoints since `follow`. */
  get fewest(): number {
    return Math.min(...this.#ready);
  }

  #list() {
    const labelSelector = "kubernetes.io/service-name=coder";
    return this.#person.list(EndpointSlice, { namespace: this.#namespace, labelSelector });
  }

  async #watch(resourceVersion: string): Promise<void> {
    const labelSelector = "kubernetes.io/service-name=coder";
    const time = { timeoutSeconds: 600, idleTimeoutMs: 600_000, signal: this.#stop.signal };
    const options = { namespace: this.#namespace, labelSelector, resourceVersion, ...time };
    for await (const { type, object } of this.#person.watch(EndpointSlice, options)) {
      if (type === "BOOKMARK") continue;
      if (type === "DELETED") this.#slices.delete(keyOfObject(object));
      else this.#slices.set(keyOfObject(object), object);
      this.#ready.push(readyIn(this.#slices.values()));
    }
  }
}

function readyIn(slices: Iterable<EndpointSlice>): number {
  return [...slices].flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions?.ready)
    .length;
}
