import { ConfigMap, type Stored, systemClock } from "kube-controller-runtime";
import { beforeEach, expect, vi } from "vitest";
import { type WatcherEvent, type WatcherOptions, watcher } from "../../src/watch/watcher.ts";
import type { ApiUnderTest } from "./api-under-test.ts";

const timing = { retryBaseMs: 20, retryCapMs: 200 };

/** Follows the ConfigMaps with one label in the background, until it is disposed. */
export class Follower implements AsyncDisposable {
  readonly events: string[] = [];
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;

  constructor(api: ApiUnderTest, options: Partial<WatcherOptions<ConfigMap>>) {
    const shared = { client: api.client, kind: ConfigMap, clock: systemClock, random: Math.random, timing };
    this.#running = this.#read(watcher<ConfigMap>({ ...shared, signal: this.#abort.signal, ...options }));
  }

  /** Waits until the reports since the last call are equal to these. */
  async hears(...expected: string[]): Promise<void> {
    const message = () => `heard ${JSON.stringify(this.events)}`;
    await vi.waitFor(() => expect(this.events.slice(0, expected.length), message()).toEqual(expected), {
      timeout: 20_000,
    });
    this.events.splice(0, expected.length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #read(events: AsyncIterable<WatcherEvent<ConfigMap>>): Promise<void> {
    for await (const event of events) {
      // A server without streaming lists rejects the first attempt, and the list starts again.
      const isAgain = event.type === "init" && this.events.at(-1) === "init";
      if (event.type !== "progress" && !isAgain)
        this.events.push("object" in event ? `${event.type} ${brief(event.object)}` : event.type);
    }
  }
}

function brief({ metadata, data }: Stored<ConfigMap>): string {
  return [metadata.name, ...Object.values(data ?? {})].join("=");
}

/** ConfigMaps in a separate namespace for every test, and followers of them. */
export function followed(api: () => ApiUnderTest) {
  let namespace: string;
  beforeEach(async () => {
    namespace = await api().newNamespace();
    api().transport.fault = undefined;
  });

  const ref = (name: string) => ({ namespace, name });
  const write = (name: string, value: string) =>
    api().other.apply(ConfigMap, {
      metadata: { ...ref(name), labels: { followed: "yes" } },
      data: { value },
    });
  const remove = (name: string) => api().other.delete(ConfigMap, ref(name));
  const follow = () => new Follower(api(), { selection: { namespace, labelSelector: "followed=yes" } });
  return { write, remove, follow, ref };
}
