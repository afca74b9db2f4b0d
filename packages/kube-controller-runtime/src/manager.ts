import type { CacheEnvironment } from "./cache/cache.ts";
import type { Caches } from "./cache/caches.ts";
import type { StoreReader } from "./cache/store.ts";
import type { Client, FenceableClient } from "./client/client.ts";
import type { Clock, Random } from "./clock.ts";
import { cachesOf } from "./controller/caches-of.ts";
import { Children } from "./controller/children.ts";
import type { Controller, RunContext } from "./controller/controller.ts";
import { withOwnFields } from "./controller/managed-fields.ts";
import type { Owner, OwnershipMarks } from "./controller/ownership.ts";
import { ControllerRunner, type FinishedRun } from "./controller/runner.ts";
import { NotLeaderError } from "./errors.ts";
import { ClusterEventRecorder } from "./events.ts";
import { closedBy, type Fence, LeaderFence } from "./fence.ts";
import { Leader } from "./leader/leader.ts";
import type { Logger } from "./log.ts";
import { type Kind, type KubeObject, resourceName, type Stored } from "./object.ts";
import type { QueueObserver } from "./queue/work-queue.ts";
import { reverted } from "./reconcile/announce.ts";

interface LeaderElection {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Unique to this process. */
  readonly identity: string;
  /**
   * A client with its own connections, so that a renewal never waits behind other requests; defaults to the
   * manager's client.
   */
  readonly client?: Client;
}

/** Observes a manager; metrics implement it. */
export interface ManagerObserver {
  queue(controller: string): QueueObserver;
  reconciled(controller: string, run: FinishedRun): void;
  watchRestarted(resource: string, reason: string): void;
  /** Called once for every cache at startup. */
  cached(kind: Kind, objects: StoreReader<KubeObject>): void;
  leading(isLeader: boolean): void;
  /** A request for the Lease failed. */
  leaseFailed(reason: string): void;
}

/** Options of a manager. `runOperator` has defaults for most of them. */
export interface ManagerOptions {
  readonly client: FenceableClient;
  /** The fence for all other external requests; defaults to a new one. */
  readonly fence?: LeaderFence;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The manager of applied fields, and the reporter of events. Must be the same as the client's. */
  readonly fieldManager: string;
  /** The annotations that record ownership. Must not change between releases. */
  readonly marks: OwnershipMarks;
  /** Identifies this process in events. */
  readonly instance: string;
  readonly controllers: readonly Controller[];
  /** Namespaces to work in; empty means the whole cluster. */
  readonly namespaces: readonly string[];
  /** If absent, this process assumes that it is the only one. */
  readonly leaderElection?: LeaderElection;
  /** Number of concurrent runs of one controller. */
  readonly concurrency: number;
  /** How long active runs may continue after the signal. */
  readonly shutdownGraceMs: number;
  readonly observer?: ManagerObserver;
}

/** How long pending events may delay the shutdown. */
const EVENT_FLUSH_MS = 1_000;

/**
 * Runs controllers. Caches sync before leader election, so that a standby takes over quickly; workers run
 * only while leading, after a relist of their kinds. On shutdown, runs end first, then watches, then the
 * fence is closed; the Lease is released last.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #caches: Caches;
  readonly #runners: ControllerRunner[];
  readonly #leader: Leader | undefined;
  readonly #fence: LeaderFence;
  readonly #events: ClusterEventRecorder;

  constructor(options: ManagerOptions) {
    this.#options = options;
    const { client, leaderElection, observer } = options;
    const onFailure = (reason: string) => observer?.leaseFailed(reason);
    this.#leader = leaderElection && new Leader({ ...options, ...leaderElection, onFailure });
    const environment: CacheEnvironment = {
      ...options,
      transform: (object) => withOwnFields(object, options.fieldManager),
      onWatchRetry: (kind, reason) => observer?.watchRestarted(kind, reason),
    };
    this.#caches = cachesOf(options.controllers, environment);
    this.#fence = options.fence ?? new LeaderFence();
    const recorder = { ...options, client: client.fencedBy(this.#fence), component: options.fieldManager };
    this.#events = new ClusterEventRecorder(recorder);
    this.#runners = this.#makeRunners(environment);
    for (const cache of this.#caches.all()) observer?.cached(cache.kind, cache);
  }

  /** The kinds whose caches are not synced yet; empty means ready. */
  unsynced(): string[] {
    return [...this.#caches.all()].filter((cache) => !cache.synced).map((cache) => resourceName(cache.kind));
  }

  /**
   * Runs until the signal is aborted, then shuts down and resolves. Rejects with `NotLeaderError` when
   * leadership is lost: the process must exit, because its state may be out of date.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stopReading = new AbortController();
    const caches = [...this.#caches.all()];
    const watching = Promise.all(caches.map((cache) => cache.run(stopReading.signal)));
    try {
      await untilAborted(signal, Promise.all(caches.map((cache) => cache.whenSynced())));
      if (signal.aborted) return;
      this.#options.log.info("caches synced", { kinds: caches.length });
      await this.#lead(signal, stopReading);
    } finally {
      this.#stopReading(stopReading);
      await watching;
    }
  }

  async #lead(signal: AbortSignal, stopReading: AbortController): Promise<void> {
    const { observer } = this.#options;
    try {
      await this.#leader?.acquire(signal);
      this.#fence.open(() => this.#leader?.isLeader() ?? true);
      void this.#leader?.lost.then((error) => this.#fence.close(error));
      observer?.leading(true);
      await this.#work(signal);
    } catch (error) {
      if (error !== signal.reason) throw error;
    } finally {
      await this.#events.flush(EVENT_FLUSH_MS);
      this.#stopReading(stopReading);
      // The next holder of the Lease must be able to rely on this process not sending any more requests.
      this.#fence.close(new NotLeaderError("leadership was released"));
      await this.#leader?.release();
      observer?.leading(false);
    }
  }

  #stopReading(caches: AbortController): void {
    this.#caches.stopReferences();
    caches.abort();
  }

  /**
   * Runs the workers until the signal, and then lets active runs finish. The loss of leadership, which closes
   * the fence, is thrown immediately, because another process already leads.
   */
  async #work(signal: AbortSignal): Promise<void> {
    const stopWork = new AbortController();
    const working = untilAborted(stopWork.signal, this.#relist()).then(() =>
      Promise.all(this.#runners.map((runner) => runner.run(stopWork.signal))),
    );
    const closed = Promise.withResolvers<never>();
    const cutOff = () => {
      stopWork.abort();
      closed.reject(this.#fence.signal.reason);
    };
    this.#fence.signal.addEventListener("abort", cutOff, { once: true });
    const finished = untilAborted(signal, working).then(() => {
      stopWork.abort();
      return this.#withinGrace(working);
    });
    await Promise.race([finished, closed.promise]);
  }

  /**
   * The caches of a standby may be minutes behind without any indication. Statuses record the work of the
   * previous leader, so runs must not start with old ones.
   */
  #relist(): Promise<unknown> {
    const kinds = this.#leader ? this.#options.controllers.map(({ kind }) => kind) : [];
    const caches = new Set(kinds.map((kind) => this.#caches.of(kind)));
    return Promise.all([...caches].map((cache) => cache.relist()));
  }

  async #withinGrace(work: Promise<unknown>): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.#options.clock.setTimer(late.resolve, this.#options.shutdownGraceMs);
    await Promise.race([work, late.promise]).finally(cancel);
  }

  #makeRunners(environment: CacheEnvironment): ControllerRunner[] {
    const { controllers, concurrency, observer } = this.#options;
    const shared = this.#contextOf(this.#fence);
    return controllers.map(
      (controller) =>
        new ControllerRunner(controller, {
          ...environment,
          caches: this.#caches,
          concurrency,
          context: (deadline) => (deadline ? this.#contextOf(closedBy(deadline, this.#fence)) : shared),
          ...(observer && { queueObserver: observer.queue(controller.name) }),
          onOutcome: (run) => observer?.reconciled(controller.name, run),
        }),
    );
  }

  /** The context of runs while the fence admits writes. */
  #contextOf(fence: Fence): Omit<RunContext, "log" | "referenced" | "follow"> {
    const { clock, fieldManager, marks } = this.#options;
    const caches = this.#caches;
    const client = caches.writeThrough(this.#options.client.fencedBy(fence));
    const onReverted = (owner: Owner, child: Stored<KubeObject>) =>
      this.#events.event(owner.object, reverted(child));
    const dryRun = this.#options.client.dryRun().fencedBy(fence);
    return {
      client,
      dryRun,
      caches,
      children: new Children({ client, dryRun, caches, fieldManager, marks, onReverted }),
      events: this.#events,
      clock,
      signal: fence.signal,
      assertLeading: () => fence.assertLeading(),
    };
  }
}

/** Resolves with the work or with the signal, whichever is first. */
async function untilAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  if (signal.aborted) return;
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => aborted.resolve(), { once: true });
  await Promise.race([work, aborted.promise]);
}
