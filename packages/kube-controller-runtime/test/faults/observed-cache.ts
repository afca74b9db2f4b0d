import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Client,
  ConfigMap,
  HttpClient,
  httpTransport,
  loadCredentials,
  systemClock,
  type Transport,
} from "kube-controller-runtime";
import { silentLog } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import { Cache } from "../../src/cache/cache.ts";

/** Seconds instead of minutes as in production, so that a test sees many retries. */
const TIMING = {
  serverTimeoutSeconds: 3,
  graceMs: 500,
  silenceLimitMs: 2_000,
  retryBaseMs: 50,
  retryCapMs: 1_000,
};
const REQUEST_TIMEOUT_MS = 2_000;

/** A cache of the ConfigMaps that a load changes, with a record of its reports. */
export class ObservedCache implements AsyncDisposable {
  /** In the notation of the load. */
  readonly heard: string[] = [];
  readonly cache: Cache<ConfigMap>;
  readonly #abort = new AbortController();
  readonly #transport: Transport;
  readonly #running: Promise<void>;

  private constructor(transport: Transport, namespace: string) {
    this.#transport = transport;
    const clock = systemClock;
    const identity = { fieldManager: "faults", userAgent: "fault-tests" };
    const client = new HttpClient({ transport, clock, timeoutMs: REQUEST_TIMEOUT_MS, ...identity });
    const environment = { client, clock, random: Math.random, log: silentLog, timing: TIMING };
    this.cache = new Cache(
      ConfigMap,
      { ...environment, namespaces: [namespace] },
      { labelSelector: "load=yes" },
    );
    this.cache.onChange(({ type, object: { metadata } }) => {
      this.heard.push(
        type === "deleted" ? `${metadata.name} deleted` : `${metadata.name}@${metadata.resourceVersion}`,
      );
    });
    this.#running = this.cache.run(this.#abort.signal);
  }

  /** Starts a cache that connects to the API server with a kubeconfig. */
  static async start(kubeconfig: string, namespace: string): Promise<ObservedCache> {
    const dir = mkdtempSync(join(tmpdir(), "runtime-faults-"));
    const file = join(dir, "kubeconfig");
    writeFileSync(file, kubeconfig, { mode: 0o600 });
    const credentials = await loadCredentials({ kubeconfig: file });
    const observed = new ObservedCache(httpTransport(credentials), namespace);
    observed.#abort.signal.addEventListener("abort", () => rmSync(dir, { recursive: true }));
    return observed;
  }

  /** The content of the cache, by name and version. */
  get state(): string[] {
    return versions(this.cache.all());
  }

  /** Fails if anything was reported twice or out of order. */
  expectOrder(): void {
    const newest = new Map<string, number>();
    for (const [name = "", version] of this.heard.map((change) => change.split("@"))) {
      if (version === undefined) continue;
      expect(Number(version), `versions of ${name}`).toBeGreaterThan(newest.get(name) ?? 0);
      newest.set(name, Number(version));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#running;
    await this.#transport.close();
  }
}

/** The content of the API server, in the same format. */
export async function stateOf(client: Client, namespace: string): Promise<string[]> {
  return versions((await client.list(ConfigMap, { namespace, labelSelector: "load=yes" })).items);
}

function versions(objects: Iterable<ConfigMap>): string[] {
  return Array.from(objects, ({ metadata }) => `${metadata?.name}@${metadata?.resourceVersion}`).sort();
}
