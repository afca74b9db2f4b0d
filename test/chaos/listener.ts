import {
  Cache,
  CoreEvent,
  createLogger,
  type Kind,
  type KubeObject,
  Secret,
  type Stored,
  systemClock,
} from "kube-controller-runtime";
import { Secrets } from "../support/leaks.ts";
import type { Said } from "./invariants/conduct.ts";
import { KINDS } from "./user.ts";
import type { World } from "./world.ts";

/** Hears, for as long as a campaign lasts, everything that is said in the cluster, and every secret kept there. */
export class Listener implements AsyncDisposable {
  readonly secrets = new Secrets();
  readonly #said = new Map<string, string>();
  readonly #world: World;
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>[] = [];

  constructor(world: World) {
    this.#world = world;
    this.secrets.add(world.postgres.password, ...Object.values(world.licenses));
    for (const { database } of world.coderds.values()) this.secrets.add(database.url);
    for (const kind of Object.values(KINDS)) {
      this.#follow(kind, ({ metadata, status }: Stored<KubeObject> & { status?: object }) =>
        this.#hear(`the status of ${metadata.name}`, JSON.stringify(status ?? {})),
      );
    }
    this.#follow(CoreEvent, ({ metadata, message = "" }) =>
      this.#hear(`the event ${metadata.name}`, message),
    );
    this.#follow(Secret, ({ data = {} }) => {
      this.secrets.add(...Object.values(data).map((value) => Buffer.from(value, "base64").toString("utf8")));
    });
  }

  /** All that was said so far, in the cluster and by the operator, and the metrics of those processes that run. */
  async said(): Promise<Said[]> {
    const { coderds, replicas } = this.#world;
    for (const { deployment } of coderds.values())
      this.secrets.add(...deployment.everyKey, ...deployment.everyProxyToken);
    const metrics = await Promise.all(replicas.running.map((operator) => operator.metrics().catch(() => "")));
    return [
      ...[...this.#said].map(([text, where]) => ({ where, text })),
      ...replicas.outputs.map((text) => ({ where: "the log of an operator", text })),
      ...metrics.map((text) => ({ where: "a metric", text })),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#watching);
  }

  #hear(where: string, text: string): void {
    this.#said.set(text, where);
  }

  #follow<T extends KubeObject>(kind: Kind<T>, hear: (object: Stored<T>) => void): void {
    const { person: client, namespace } = this.#world;
    const log = createLogger({ level: "error" });
    const cache = new Cache(kind, {
      client,
      clock: systemClock,
      random: Math.random,
      log,
      namespaces: [namespace],
    });
    cache.onChange(({ object }) => hear(object));
    this.#watching.push(cache.run(this.#stop.signal));
  }
}
