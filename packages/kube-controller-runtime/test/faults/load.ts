import { setTimeout as sleep } from "node:timers/promises";
import { type Client, ConfigMap } from "kube-controller-runtime";

const NAMES = ["a", "b", "c", "d", "e"];
const PAUSE_MS = 40;

/** Changes ConfigMaps continuously, directly at the API server, and records the writes. */
export class Load implements AsyncDisposable {
  /** Every write in order: `a@17` for a version, `a deleted` for a deletion. */
  readonly log: string[] = [];
  readonly #client: Client;
  readonly #namespace: string;
  readonly #running: Promise<void>;
  #stopped = false;

  constructor(client: Client, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#running = this.#run();
  }

  /** Waits for this many more successful writes. */
  async writes(count: number): Promise<void> {
    const goal = this.log.length + count;
    while (this.log.length < goal) await sleep(PAUSE_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(): Promise<void> {
    for (let step = 0; !this.#stopped; step++) {
      const name = NAMES[step % NAMES.length] ?? "";
      // While the API server is down, writes fail, which is not what this tests.
      await (step % 17 === 16 ? this.#delete(name) : this.#write(name, step)).catch(() => undefined);
      await sleep(PAUSE_MS);
    }
  }

  async #write(name: string, step: number): Promise<void> {
    const metadata = { namespace: this.#namespace, name, labels: { load: "yes" } };
    const written = await this.#client.apply(ConfigMap, { metadata, data: { step: String(step) } });
    this.log.push(`${name}@${written.metadata.resourceVersion}`);
  }

  async #delete(name: string): Promise<void> {
    await this.#client.delete(ConfigMap, { namespace: this.#namespace, name });
    this.log.push(`${name} deleted`);
  }
}
