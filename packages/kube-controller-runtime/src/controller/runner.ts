import { randomBytes } from "node:crypto";
import type { CacheEnvironment } from "../cache/cache.ts";
import type { Caches } from "../cache/caches.ts";
import type { HeldReferences, References } from "../cache/references.ts";
import type { Change } from "../cache/store.ts";
import { NotLeaderError, RunTimeoutError } from "../errors.ts";
import type { Logger } from "../log.ts";
import {
  type Kind,
  type KubeObject,
  keyOfObject,
  type ObjectKey,
  resourceName,
  type Stored,
} from "../object.ts";
import { type Action, requeue } from "../queue/action.ts";
import { type QueueObserver, WorkQueue } from "../queue/work-queue.ts";
import { type Outcome, runWorkers } from "../queue/workers.ts";
import type { Controller, Followed, RunContext, Source } from "./controller.ts";

/** The object, the result and the duration of a run. */
export type FinishedRun = Outcome & {
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly durationMs: number;
};

export interface RunnerEnvironment extends CacheEnvironment {
  readonly caches: Caches;
  /** The context of a run without what the runner itself provides; runs end at `deadline`. */
  readonly context: (deadline?: AbortSignal) => Omit<RunContext, "log" | "referenced" | "follow">;
  readonly concurrency: number;
  readonly queueObserver?: QueueObserver;
  readonly onOutcome?: (run: FinishedRun) => void;
}

/**
 * Runs one controller: maps changes to keys from its creation, and runs keys while `run` is active. Earlier
 * keys are queued, so that a standby takes over without a full resync.
 */
export class ControllerRunner {
  readonly #controller: Controller;
  readonly #environment: RunnerEnvironment;
  readonly #queue: WorkQueue;
  readonly #references = new Map<string, HeldReferences<KubeObject>>();
  /** By kind, the objects that runs follow in addition to the declared ones. */
  readonly #followed = new Map<string, HeldReferences<KubeObject>>();
  /** The log of each active run: a key never runs concurrently. */
  readonly #logs = new Map<ObjectKey, Logger>();

  constructor(controller: Controller, environment: RunnerEnvironment) {
    this.#controller = controller;
    this.#environment = environment;
    const { clock, random, queueObserver } = environment;
    const { backoff } = controller.limits;
    this.#queue = new WorkQueue({
      clock,
      random,
      ...(queueObserver && { observer: queueObserver }),
      ...(backoff && { backoff }),
    });
    this.#followReferences();
    for (const source of controller.sources)
      environment.caches.of(source.kind).onChange((change) => this.#enqueue(source, change));
  }

  /** Starts runs until the signal is aborted; resolves when the last one has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, concurrency } = this.#environment;
    const { limits } = this.#controller;
    await runWorkers(this.#queue, {
      clock,
      concurrency: limits.concurrency ?? concurrency,
      signal,
      work: (key) => this.#reconcileInTime(key),
      onOutcome: (key, outcome) => this.#report(key, outcome),
    });
  }

  /**
   * A key is only free when its reconcile has ended, even after its deadline: never two runs of a key at
   * once.
   */
  async #reconcileInTime(key: ObjectKey): Promise<Action> {
    const { timeoutMs } = this.#controller.limits;
    if (timeoutMs === undefined) return this.#reconcile(key);
    const deadline = new AbortController();
    const late = new RunTimeoutError(`the run did not finish within ${timeoutMs} ms`);
    const cancel = this.#environment.clock.setTimer(() => {
      this.#logs.get(key)?.warn("run exceeded its timeout; its writes are rejected", { timeoutMs });
      deadline.abort(late);
    }, timeoutMs);
    try {
      return await this.#reconcile(key, deadline.signal);
    } catch (cause) {
      if (!deadline.signal.aborted || cause instanceof NotLeaderError) throw cause;
      throw new RunTimeoutError(late.message, cause === late ? {} : { cause });
    } finally {
      cancel();
    }
  }

  async #reconcile(key: ObjectKey, deadline?: AbortSignal): Promise<Action> {
    const context = this.#contextOf(key, deadline);
    this.#logs.set(key, context.log);
    if (await this.#isAccepted(key, context)) return requeue(0);
    this.#declareReferences(key);
    return this.#controller.reconcile(key, context);
  }

  /**
   * Whether this run gave a new object its first status. If writing it fails, the run continues and reports
   * its own errors.
   */
  async #isAccepted(key: ObjectKey, context: RunContext): Promise<boolean> {
    const unaccepted = this.#unaccepted(key);
    if (!unaccepted) return false;
    try {
      await this.#controller.acceptance?.accept(unaccepted, context);
    } catch (error) {
      if (error instanceof NotLeaderError) throw error;
      context.log.warn("failed to write the first status", { error });
    }
    return this.#unaccepted(key) === undefined;
  }

  /** The object of the key, if it is new and not accepted yet. */
  #unaccepted(key: ObjectKey): Stored<KubeObject> | undefined {
    const { acceptance, kind } = this.#controller;
    const object = acceptance && this.#environment.caches.of(kind).get(key);
    return object && acceptance.isNew(object) ? object : undefined;
  }

  #enqueue(source: Source, change: Change<KubeObject>): void {
    const { object, fromList } = change;
    const isWanted = this.#tolerate(
      object,
      () => source.when(change),
      "predicate failed, reconciling the object",
    );
    if (isWanted === false) return;
    const priority = fromList ? "resync" : "fresh";
    this.#tolerate(object, () => {
      // The previous and the new state usually return the same key; adding it twice would run it twice.
      const keys = new Set(source.keysOf(change, this.#environment.caches));
      const { settleMs: afterMs = 0 } = source;
      for (const key of keys)
        this.#queue.add(key, { afterMs, priority: this.#unaccepted(key) ? "new" : priority });
    });
  }

  /** An error of the controller's own functions must not end the watch. */
  #tolerate<R>(object: Stored<KubeObject>, handle: () => R, failure = "failed to map the change to keys") {
    try {
      return handle();
    } catch (error) {
      const fields = { controller: this.#controller.name, object: keyOfObject(object) };
      this.#environment.log.error(failure, { ...fields, error });
      return undefined;
    }
  }

  #followReferences(): void {
    for (const { kind } of this.#controller.referrals) {
      const references = this.#environment.caches.referencesTo(kind);
      const held = references.heldBy((holder) => this.#queue.add(holder));
      this.#references.set(resourceName(kind), held);
    }
    if (this.#references.size === 0) return;
    const objects = this.#environment.caches.of(this.#controller.kind);
    objects.onChange(({ object, type, ownWrite }) => {
      // Writes of a run do not change the references of its object.
      if (ownWrite && type !== "deleted") return;
      this.#tolerate(object, () => this.#declareReferences(keyOfObject(object)));
    });
  }

  /** Follows the object's current references; none if it no longer exists. */
  #declareReferences(holder: ObjectKey): void {
    const { caches } = this.#environment;
    const object = caches.of(this.#controller.kind).get(holder);
    if (!object) this.#follow(holder, []);
    for (const [name, references] of this.#references) {
      const referrals = this.#controller.referrals.filter(({ kind }) => resourceName(kind) === name);
      references.set(holder, object ? referrals.flatMap(({ refsOf }) => refsOf(object, caches)) : []);
    }
  }

  #contextOf(key: ObjectKey, deadline: AbortSignal | undefined): RunContext {
    const { context, log } = this.#environment;
    const run = randomBytes(4).toString("hex");
    return {
      ...context(deadline),
      log: log.child({ controller: this.#controller.name, object: key, run }),
      referenced: (kind) => this.#referencesOf(kind),
      follow: (objects) => this.#follow(key, objects),
    };
  }

  #follow(holder: ObjectKey, objects: readonly Followed[]): void {
    for (const { kind } of objects) {
      if (this.#followed.has(resourceName(kind))) continue;
      const held = this.#environment.caches.referencesTo(kind).heldBy((key) => this.#queue.add(key));
      this.#followed.set(resourceName(kind), held);
    }
    for (const [name, held] of this.#followed) {
      const ofKind = objects.filter(({ kind }) => resourceName(kind) === name);
      held.set(
        holder,
        ofKind.map(({ ref }) => ref),
      );
    }
  }

  #referencesOf<T extends KubeObject>(kind: Kind<T>): Pick<References<T>, "get"> {
    const references = this.#references.get(resourceName(kind));
    if (!references) throw new TypeError(`${this.#controller.name} declares no reference to ${kind.kind}`);
    return references as unknown as HeldReferences<T>;
  }

  #report(key: ObjectKey, outcome: Outcome & { readonly durationMs: number }): void {
    this.#environment.onOutcome?.({ ...outcome, kind: this.#controller.kind, key });
    const log = this.#logs.get(key);
    this.#logs.delete(key);
    if (outcome.result === "error") {
      const { error, retryInMs, failures } = outcome;
      log?.error("run failed, retrying", { error, retryInMs, failures });
    } else if (outcome.result === "terminal") {
      log?.error("run failed, waiting for a change", { error: outcome.error });
    }
  }
}
