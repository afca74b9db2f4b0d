import { Cache } from "../src/runtime/cache/cache.ts";
import type { Change } from "../src/runtime/cache/store.ts";
import type { Client } from "../src/runtime/client/client.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { Deployment } from "../src/runtime/kinds.ts";
import { createLogger } from "../src/runtime/logging.ts";
import type { Kind, KubeObject } from "../src/runtime/object.ts";

/** Watches all objects of a kind in the cluster, and can be told what to do about each change. */
export class Follower implements Disposable {
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #log = createLogger({ level: "error" });

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns once what is there already has been told. */
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

  /** Reports every pod of a Deployment ready as soon as its spec is seen: one request for each spec. */
  async playKubelet(): Promise<void> {
    await this.follow(Deployment, ({ type, object }) => {
      if (type !== "deleted") void reportReady(this.#client, object);
    });
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

async function reportReady(client: Client, { metadata, spec, status }: Deployment): Promise<void> {
  const { namespace, name = "", generation } = metadata ?? {};
  if (status?.observedGeneration === generation) return;
  const replicas = spec?.replicas ?? 1;
  const pods = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
  const patch = { status: { observedGeneration: generation, ...pods } };
  // One that was removed meanwhile needs no report.
  await client.patchStatus(Deployment, { namespace, name }, patch).catch(() => {});
}
