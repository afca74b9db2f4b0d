import type { Client } from "../src/client/client.ts";
import { HttpClient } from "../src/client/http-client.ts";
import type { TransportRequest } from "../src/client/transport.ts";
import type { Controller } from "../src/controller/controller.ts";
import type { LogFields, Logger } from "../src/log.ts";
import { Manager, type ManagerOptions } from "../src/manager.ts";
import { VirtualClock } from "./clock.ts";
import { FakeApi } from "./fake-api/fake-api.ts";
import { FaultyTransport } from "./faulty-transport.ts";

/** The ownership marks of managers under test. */
export const marks = {
  handOver: "example.com/adopt-by",
  ownerUid: "example.com/owner-uid",
  applied: "example.com/applied",
};

interface LogEntry {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** A manager, its in-memory API server, and the transport between them. */
export interface ManagerUnderTest {
  readonly clock: VirtualClock;
  readonly api: FakeApi;
  /** Counts the manager's requests and injects faults. */
  readonly transport: FaultyTransport;
  readonly manager: Manager;
  /** Writes as another client. */
  readonly person: Client;
  readonly log: readonly LogEntry[];
  /** The manager's requests since the last call, without watches: `apply ns/name`. */
  requests(): string[];
  /** Calls `run`; nothing is sent before. */
  start(): void;
  /** The result of `run`: an error, or `undefined` for a graceful shutdown. */
  running(): Promise<unknown>;
  /** Stops it like a signal, lets a minute pass, and resolves with the result of `run`. */
  stop(): Promise<unknown>;
}

/**
 * Prepares a manager in virtual time with an in-memory API server and the field manager `operator`. Install
 * your kinds in `api`, call `start`, move `clock`, and `stop` it at the end of the test.
 */
export function prepareManager(
  controllers: readonly Controller[],
  options: Partial<ManagerOptions> = {},
): ManagerUnderTest {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  const transport = new FaultyTransport(api);
  const log: LogEntry[] = [];
  const manager = new Manager({
    client: new HttpClient({ transport, clock, fieldManager: "operator", userAgent: "operator" }),
    clock,
    random: () => 0.5,
    log: recordingLog(log),
    fieldManager: "operator",
    marks,
    instance: "operator-1",
    controllers,
    namespaces: [],
    concurrency: 4,
    shutdownGraceMs: 5_000,
    ...options,
  });
  const abort = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  const stop = async () => {
    abort.abort();
    await clock.advance(60_000);
    return running;
  };
  return {
    clock,
    api,
    transport,
    manager,
    person: api.client("person"),
    log,
    requests: () => transport.requests.splice(0).filter(isNoWatch).map(describe),
    running: () => running,
    stop,
    start: () => {
      running = manager.run(abort.signal).catch((error: unknown) => error);
    },
  };
}

function isNoWatch({ path }: TransportRequest): boolean {
  return !path.includes("watch=true");
}

const VERBS: Readonly<Record<string, string>> = {
  "application/apply-patch+yaml": "apply",
  "application/merge-patch+json": "patch",
  "application/json-patch+json": "json patch",
};

function describe({ method, path, headers }: TransportRequest): string {
  const verb = method === "PATCH" ? VERBS[headers["content-type"] ?? ""] : method.toLowerCase();
  const [, resource = ""] = path.split("?", 1)[0]?.split("/namespaces/") ?? [];
  return `${verb} ${resource}`;
}

function recordingLog(entries: LogEntry[], common: LogFields = {}): Logger {
  const write = (level: string) => (message: string, fields?: LogFields) =>
    void entries.push({ level, message, fields: { ...common, ...fields } });
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => recordingLog(entries, { ...common, ...fields }),
  };
}
