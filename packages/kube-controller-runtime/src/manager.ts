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
  /** One with connections of its own, so that a renewal never waits behind work; else the manager's. */
  readonly client?: Client;
}

/** What the manager reports about itself; metrics implement it. */
export interface ManagerObserver {
  queue(controller: string): QueueObserver;
  reconciled(controller: string, run: FinishedRun): void;
  watchRestarted(resource: string, reason: string): void;
  /** Called once for every cache, at the start. */
  cached(kind: Kind, objects: StoreReader<KubeObject>): void;
  leading(isLeader: boolean): void;
  /** A request for the Lease failed. */
  leaseFailed(reason: string): void;
}

/** What a manager works with. `runOperator` has defaults for most of it. */
export interface ManagerOptions {
  readonly client: FenceableClient;
  /** The fence that all other ways out of the process pass too; one of its own when there are none. */
  readonly fence?: LeaderFence;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Owner of the fields we apply, and reporter of our events. Must be that of the client. */
  readonly fieldManager: string;
  /** The annotations by which objects say whose they are. Must stay the same from release to release. */
  readonly marks: OwnershipMarks;
  /** Which process this is, for events. */
  readonly instance: string;
  readonly controllers: readonly Controller[];
  /** Namespaces to work in; the whole cluster when empty. */
  readonly namespaces: readonly string[];
  /** Without it this process takes itself for the only one. */
  readonly leaderElection?: LeaderElection;
  /** Runs of one controller at the same time. */
  readonly concurrency: number;
  /** How long runs that have begun may go on after the signal. */
  readonly shutdownGraceMs: number;
  readonly observer?: ManagerObserver;
}

/** How long events that wait to be written may hold up the end. */
const EVENT_FLUSH_MS = 1_000;

/**
 * Runs controllers. Caches are warm before leadership is sought, so a standby takes over at once; workers
 * run only while leading, after the objects of their kinds were listed again. Runs end first, then watches, then the
 * fence is closed; the Lease is given back last.
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

  /** The kinds whose caches are not complete yet; none means ready. */
  unsynced(): string[] {
    return [...this.#caches.all()].filter((cache) => !cache.synced).map((cache) => resourceName(cache.kind));
  }

  /**
   * Runs until the signal is aborted, then stops in order and resolves. Rejects with `NotLeaderError` when
   * leadership is lost: the process must end, because what it knows may no longer be true.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stopReading = new AbortController();
    const caches = [...this.#caches.all()];
    const watching = Promise.all(caches.map((cache) => cache.run(stopReading.signal)));
    try {
      await untilAborted(signal, Promise.all(caches.map((cache) => cache.whenSynced())));
      if (signal.aborted) return;
      this.#options.log.info("caches are synced", { kinds: caches.length });
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
      // Whoever is given the Lease must find that nothing comes from here any more.
      this.#fence.close(new NotLeaderError("leadership was given up"));
      await this.#leader?.release();
      observer?.leading(false);
    }
  }

  #stopReading(caches: AbortController): void {
    this.#caches.stopReferences();
    caches.abort();
  }

  /**
   * Runs the workers until the signal, and then lets what has begun finish. The loss of leadership, which closes
   * the fence, is thrown at once: another process leads, so nobody must wait for what this one still does.
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
   * The caches of a standby may be minutes behind without a sign of it. Statuses record what the process before has done, so
   * no run begins on those of an earlier time.
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

  /** What runs work with while the fence lets them write. */
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

/** Resolves with the work or with the signal, whichever comes first. */
async function untilAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  if (signal.aborted) return;
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => aborted.resolve(), { once: true });
  await Promise.race([work, aborted.promise]);
}
