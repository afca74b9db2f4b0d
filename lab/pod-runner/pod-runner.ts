import {
  Cache,
  type Client,
  type Clock,
  ConfigMap,
  createLogger,
  isNotFound,
  Pod,
  Secret,
  type Stored,
  systemClock,
} from "kube-controller-runtime";
import type { Sources } from "./environment.ts";
import type { Launch } from "./launch.ts";
import { PodLife, type PodNode } from "./pod-life.ts";

export interface PodRunnerOptions {
  readonly client: Client;
  readonly launch: Launch;
  /** Only pods of these namespaces; defaults to the whole cluster. */
  readonly namespaces?: readonly string[];
  readonly clock?: Clock;
}

/**
 * Replaces scheduler and kubelet: binds pods, runs their container with `launch`, reports their state, and
 * removes deleted pods once their container has ended.
 */
export class PodRunner implements AsyncDisposable {
  readonly #node: PodNode;
  readonly #lives = new Map<string, PodLife>();
  readonly #addresses = loopbackAddresses();
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor({ client, launch, namespaces = [], clock = systemClock }: PodRunnerOptions) {
    this.#node = { client, clock, launch, sources: sourcesOf(client) };
    const log = createLogger({ level: "error" });
    const pods = new Cache(Pod, { client, clock, random: Math.random, log, namespaces });
    pods.onChange(({ type, object }) => this.#see(object, type === "deleted"));
    this.#watching = pods.run(this.#stop.signal);
  }

  /** Stops every container; the pods stay in the cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    for (const life of this.#lives.values()) life.abandon();
    await Promise.all([...this.#lives.values()].map(({ ended }) => ended));
  }

  #see(pod: Stored<Pod>, gone: boolean): void {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
    const life = this.#lives.get(uid);
    life?.update(pod);
    if (gone) life?.abandon();
    else if (deletionTimestamp) (life ?? this.#begin(pod)).remove(deletionGracePeriodSeconds);
    else if (!life) this.#begin(pod);
  }

  #begin(pod: Stored<Pod>): PodLife {
    const { uid } = pod.metadata;
    const life = new PodLife(pod, this.#addresses.next().value, this.#node);
    this.#lives.set(uid, life);
    void life.ended.then(() => this.#lives.delete(uid));
    return life;
  }
}

/**
 * Every pod has its own address, so that all may listen on the same port. On Linux, all of 127/8 is loopback.
 */
function* loopbackAddresses(): Generator<string, never> {
  const block = 1 + Math.floor(Math.random() * 250);
  for (let count = 1; ; count++) yield `127.${block}.${(count >> 8) & 255}.${count & 255}`;
}

function sourcesOf(client: Client): Sources {
  return async (kind, ref) => {
    try {
      if (kind === "ConfigMap") return (await client.get(ConfigMap, ref)).data ?? {};
      const { data = {} } = await client.get(Secret, ref);
      return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}
