import { onTestFinished } from "vitest";
import type { Client } from "../../src/client/client.ts";
import type { ApiError } from "../../src/client/error.ts";
import { HttpClient } from "../../src/client/http-client.ts";
import { ConfigMap } from "../../src/kinds.ts";
import type { Stored } from "../../src/object.ts";
import { type WatcherEvent, type WatcherOptions, watcher } from "../../src/watch/watcher.ts";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import { type Fault, FaultyTransport } from "../../testing/faulty-transport.ts";

/** A running watcher, its server, and the network between them. */
export interface Following {
  readonly clock: VirtualClock;
  readonly api: FakeApi;
  readonly transport: FaultyTransport;
  readonly other: Client;
  readonly seen: string[];
  readonly retries: { readonly error: ApiError; readonly waitMs: number; readonly expected: boolean }[];
  readonly abort: AbortController;
  /** Resolves when the watcher has ended. */
  readonly ended: Promise<void>;
}

/** A watcher of ConfigMaps in virtual time, and its reports so far. */
export function following(fault?: Fault, options: Partial<WatcherOptions<ConfigMap>> = {}): Following {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  const transport = new FaultyTransport(api);
  transport.fault = fault;
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const client = new HttpClient({ transport, clock, fieldManager: "test", userAgent: "test" });
  const seen: string[] = [];
  const retries: Following["retries"] = [];
  const events = watcher<ConfigMap>({
    client,
    kind: ConfigMap,
    clock,
    random: () => 0.5,
    signal: abort.signal,
    onRetry: (error, waitMs, expected) => retries.push({ error, waitMs, expected }),
    ...options,
  });
  const ended = record(events, seen);
  return { clock, api, transport, other: api.client(), seen, retries, abort, ended };
}

async function record(events: AsyncIterable<WatcherEvent<ConfigMap>>, seen: string[]): Promise<void> {
  for await (const event of events) {
    if (event.type !== "progress")
      seen.push("object" in event ? `${event.type} ${brief(event.object)}` : event.type);
  }
}

function brief({ metadata, data }: Stored<ConfigMap>): string {
  return [metadata.name, ...Object.values(data ?? {})].join("=");
}

export function configMap(name: string, value?: string): ConfigMap {
  return { metadata: { namespace: "default", name }, ...(value ? { data: { value } } : {}) };
}
