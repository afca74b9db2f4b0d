import { Cache, type Client, createLogger, type Stored, systemClock } from "kube-controller-runtime";
import { NAMESPACE } from "./manifests.ts";
import { CAST, type CoderObject, type Row, rowOf } from "./rows.ts";

/**
 * Watches the custom resources in the cluster, so that the table always shows the state of the API server.
 */
export class Board implements AsyncDisposable {
  readonly #caches: readonly Cache<CoderObject>[];
  readonly #stop = new AbortController();
  readonly #watching: Promise<unknown>;

  constructor(client: Client) {
    const log = createLogger({ level: "error" });
    const shared = { client, clock: systemClock, random: Math.random, log, namespaces: [NAMESPACE] };
    this.#caches = CAST.map(({ kind }) => new Cache(kind, shared));
    this.#watching = Promise.all(this.#caches.map((cache) => cache.run(this.#stop.signal)));
  }

  /** The objects of the demo, even if they do not exist, and any other custom resources. */
  rows(): Row[] {
    return CAST.flatMap(({ kind, name }, index) => {
      const objects: Stored<CoderObject>[] = [...(this.#caches[index]?.all() ?? [])];
      const expected = objects.find(({ metadata }) => metadata.name === name);
      const added = objects.filter((object) => object !== expected);
      return [
        rowOf(kind, name, expected),
        ...added.map((object) => rowOf(kind, object.metadata.name, object)),
      ];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }
}
