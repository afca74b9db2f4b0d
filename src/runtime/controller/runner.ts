import { randomBytes } from "node:crypto";
import type { CacheEnvironment } from "../cache/cache.ts";
import type { Caches } from "../cache/caches.ts";
import { References } from "../cache/references.ts";
import type { Change } from "../cache/store.ts";
import { type Kind, type KubeObject, keyOfObject, type ObjectKey, resourceName } from "../object.ts";
import { type QueueObserver, WorkQueue } from "../queue/work-queue.ts";
import { type Outcome, runWorkers } from "../queue/workers.ts";
import type { Controller, RunContext } from "./controller.ts";

export interface RunnerEnvironment extends CacheEnvironment {
  readonly caches: Caches;
  /** All of a run's context but what the runner itself provides. */
  readonly context: Omit<RunContext, "log" | "referenced">;
  readonly concurrency: number;
  readonly queueObserver?: QueueObserver;
  readonly onOutcome?: (outcome: Outcome & { readonly durationMs: number }) => void;
}

/**
 * Makes one controller run: turns changes into keys from the moment it is made, and keys into runs while
 * `run` is under way. Keys that come before wait, so a standby takes over without looking at everything anew.
 */
export class ControllerRunner {
  readonly #controller: Controller;
  readonly #environment: RunnerEnvironment;
  readonly #queue: WorkQueue;
  readonly #references = new Map<string, References<KubeObject>>();

  constructor(controller: Controller, environment: RunnerEnvironment) {
    this.#controller = controller;
    this.#environment = environment;
    const { clock, random, queueObserver } = environment;
    this.#queue = new WorkQueue({ clock, random, ...(queueObserver ? { observer: queueObserver } : {}) });
    this.#followReferences();
    for (const source of controller.sources) {
      const { caches } = environment;
      caches.of(source.kind).onChange((change) => this.#enqueue(source.keysOf(change, caches), change));
    }
  }

  /** Starts runs until the signal is aborted; resolves when the last one has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, concurrency } = this.#environment;
    await runWorkers(this.#queue, {
      clock,
      concurrency,
      signal,
      work: (key) => {
        this.#declareReferences(key);
        return this.#controller.reconcile(key, this.#contextOf(key));
      },
      onOutcome: (key, outcome) => this.#report(key, outcome),
    });
  }

  /** Ends the watches of referenced objects. */
  stop(): void {
    for (const references of this.#references.values()) references.stop();
  }

  #enqueue(keys: readonly ObjectKey[], change: Change<KubeObject>): void {
    const priority = change.fromList ? "resync" : "fresh";
    for (const key of keys) this.#queue.add(key, { priority });
  }

  #followReferences(): void {
    for (const { kind } of this.#controller.referrals) {
      const references = new References(kind, this.#environment, (holder) => this.#queue.add(holder));
      this.#references.set(resourceName(kind), references);
    }
    if (this.#references.size === 0) return;
    const objects = this.#environment.caches.of(this.#controller.kind);
    objects.onChange(({ object }) => this.#declareReferences(keyOfObject(object)));
  }

  /** Follows what the object refers to now; nothing once it is gone. */
  #declareReferences(holder: ObjectKey): void {
    const { caches } = this.#environment;
    const object = caches.of(this.#controller.kind).get(holder);
    for (const [name, references] of this.#references) {
      const referrals = this.#controller.referrals.filter(({ kind }) => resourceName(kind) === name);
      references.set(holder, object ? referrals.flatMap(({ refsOf }) => refsOf(object, caches)) : []);
    }
  }

  #contextOf(key: ObjectKey): RunContext {
    const { context, log } = this.#environment;
    const run = randomBytes(4).toString("hex");
    return {
      ...context,
      log: log.child({ controller: this.#controller.name, object: key, run }),
      referenced: (kind) => this.#referencesOf(kind),
    };
  }

  #referencesOf<T extends KubeObject>(kind: Kind<T>): References<T> {
    const references = this.#references.get(resourceName(kind));
    if (!references) throw new TypeError(`${this.#controller.name} declares no reference to ${kind.kind}`);
    return references as unknown as References<T>;
  }

  #report(key: ObjectKey, outcome: Outcome & { readonly durationMs: number }): void {
    this.#environment.onOutcome?.(outcome);
    const fields = { controller: this.#controller.name, object: key };
    if (outcome.result === "error") {
      const { error, retryInMs, failures } = outcome;
      this.#environment.log.error("run failed, will be tried again", {
        ...fields,
        error,
        retryInMs,
        failures,
      });
    } else if (outcome.result === "terminal") {
      this.#environment.log.error("run failed, waits for a change", { ...fields, error: outcome.error });
    }
  }
}
