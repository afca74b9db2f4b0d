import { setTimeout as sleep } from "node:timers/promises";
import {
  Cache,
  type Change,
  type Client,
  createLogger,
  Deployment,
  isNotFound,
  type Kind,
  type KubeObject,
  type Stored,
  systemClock,
} from "kube-controller-runtime";

const RETRY_MS = 500;

/** Watches all objects of a kind in the cluster, and calls back for each change. */
export class Follower implements Disposable {
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #log = createLogger({ level: "error" });

  constructor(client: Client) {
    this.#client = client;
  }

  /** Resolves once the existing objects have been reported. */
  async follow<T extends KubeObject>(kind: Kind<T>, onChange: (change: Change<T>) => void): Promise<void> {
    const cache = new Cache(kind, {
      client: this.#client,
      clock: systemClock,
      random: Math.random,
      log: this.#log,
      namespaces: [],
    });
    cache.onChange(onChange);
    void cache.run(this.#stop.signal);
    await cache.whenSynced();
  }

  /** Reports every pod of a Deployment, of all by default, as ready once its spec is seen, with one request for each spec. */
  async playKubelet(of: (deployment: Stored<Deployment>) => boolean = () => true): Promise<void> {
    await this.follow(Deployment, ({ type, object }) => {
      const isReported = object.status?.observedGeneration === object.metadata.generation;
      if (type !== "deleted" && !isReported && of(object)) void this.#reportReady(object);
    });
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }

  /** Retries until it succeeds, because the fleet would never converge otherwise. */
  async #reportReady({ metadata, spec }: Stored<Deployment>): Promise<void> {
    const { namespace, name, generation } = metadata;
    const replicas = spec?.replicas ?? 1;
    const pods = {
      replicas,
      updatedReplicas: replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
    };
    const patch = { status: { observedGeneration: generation, ...pods } };
    while (!this.#stop.signal.aborted) {
      const error = await this.#client.patchStatus(Deployment, { namespace, name }, patch).then(
        () => undefined,
        (failure: unknown) => failure,
      );
      if (error === undefined || isNotFound(error)) return;
      await sleep(RETRY_MS);
    }
  }
}
