import type { Client } from "../../src/client/client.ts";
import type { Clock } from "../../src/clock.ts";
import type { Lease } from "../../src/kinds.ts";
import type { Stored } from "../../src/object.ts";
import type { VirtualClock } from "../../testing/clock.ts";
import { apiError, stubClient } from "../../testing/stub-client.ts";

type LeaseSpec = NonNullable<Lease["spec"]>;

/** An API server for one Lease: with real versions, conflicts and merge patches. */
export class LeaseServer {
  lease: Stored<Lease> | undefined;
  /** Every stored spec, in order. */
  readonly history: LeaseSpec[] = [];
  /** Called at the moment when a spec is stored. */
  onStore: (spec: LeaseSpec) => void = () => {};
  /** Whether access to the Lease is forbidden. */
  isForbidden = false;
  #version = 0;

  get spec(): LeaseSpec {
    return this.lease?.spec ?? {};
  }

  read(): Stored<Lease> {
    if (this.isForbidden) throw apiError("Forbidden");
    if (!this.lease) throw apiError("NotFound");
    return structuredClone(this.lease);
  }

  create(lease: Lease): Stored<Lease> {
    if (this.lease) throw apiError("AlreadyExists");
    return this.#store(lease.spec ?? {});
  }

  patch(patch: { metadata: { resourceVersion: string }; spec: object }): Stored<Lease> {
    const lease = this.read();
    if (patch.metadata.resourceVersion !== lease.metadata.resourceVersion) throw apiError("Conflict");
    const merged = Object.entries({ ...lease.spec, ...patch.spec }).filter(([, value]) => value !== null);
    return this.#store(Object.fromEntries(merged));
  }

  #store(spec: LeaseSpec): Stored<Lease> {
    const resourceVersion = `${++this.#version}`;
    this.lease = { metadata: { namespace: "ns", name: "lease", uid: "uid", resourceVersion }, spec };
    this.history.push(spec);
    this.onStore(spec);
    return this.read();
  }
}

/** Whether requests and responses are delivered, and their latencies. */
export interface Network {
  readonly sendMs: number;
  readonly answerMs: number;
  readonly fails: "no" | "beforeServer" | "afterServer" | "hangs";
}

export const GOOD_NETWORK: Network = { sendMs: 5, answerMs: 5, fails: "no" };

/**
 * A process with its machine: it has its own wall clock and network, and can be stopped like by SIGSTOP.
 * While it is stopped, due timers and responses wait until it continues.
 */
export class Machine implements Clock {
  network: Network = GOOD_NETWORK;
  wallOffset = 0;
  /** Milliseconds that the monotonic clock missed while the machine was suspended. */
  suspendedMs = 0;
  requests = 0;
  readonly #base: VirtualClock;
  readonly #server: LeaseServer;
  #backlog: (() => void)[] | undefined;

  constructor(base: VirtualClock, server: LeaseServer) {
    this.#base = base;
    this.#server = server;
  }

  now(): number {
    return this.#base.now() + this.wallOffset;
  }

  monotonic(): number {
    return this.#base.monotonic() - this.suspendedMs;
  }

  setTimer(callback: () => void, ms: number): () => void {
    let cancelled = false;
    const fire = () => {
      if (cancelled) return;
      if (this.#backlog) this.#backlog.push(fire);
      else callback();
    };
    const cancelBase = this.#base.setTimer(fire, ms);
    return () => {
      cancelled = true;
      cancelBase();
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = this.setTimer(resolve, ms);
      signal?.addEventListener("abort", () => {
        cancel();
        reject(signal.reason);
      });
    });
  }

  stop(): void {
    this.#backlog ??= [];
  }

  continue(): void {
    const due = this.#backlog ?? [];
    this.#backlog = undefined;
    for (const fire of due) fire();
  }

  get client(): Client {
    return stubClient({
      get: () => this.#request(() => this.#server.read()),
      create: (_: unknown, lease: Lease) => this.#request(() => this.#server.create(lease)),
      mergePatch: (_kind: unknown, _ref: unknown, patch: Parameters<LeaseServer["patch"]>[0]) =>
        this.#request(() => this.#server.patch(patch)),
    });
  }

  /** The request reaches the server while this machine is stopped; only the response waits. */
  async #request<T>(perform: () => T): Promise<T> {
    this.requests++;
    const { sendMs, answerMs, fails } = this.network;
    await this.#base.sleep(sendMs);
    const answer = fails === "beforeServer" ? undefined : attempt(perform);
    if (fails === "hangs") await new Promise(() => {});
    await this.sleep(answerMs);
    if (!answer || fails === "afterServer") throw apiError("Unreachable");
    if ("error" in answer) throw answer.error;
    return answer.value;
  }
}

function attempt<T>(perform: () => T): { value: T } | { error: unknown } {
  try {
    return { value: perform() };
  } catch (error) {
    return { error };
  }
}
