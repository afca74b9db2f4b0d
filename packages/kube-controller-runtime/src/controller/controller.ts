import type { BackoffPolicy } from "../backoff.ts";
import type { CacheOptions } from "../cache/cache.ts";
import type { Caches } from "../cache/caches.ts";
import type { References } from "../cache/references.ts";
import type { Change } from "../cache/store.ts";
import type { Client } from "../client/client.ts";
import type { Clock } from "../clock.ts";
import type { EventRecorder } from "../events.ts";
import type { Fence } from "../fence.ts";
import type { Logger } from "../log.ts";
import {
  groupOf,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectKey,
  type ObjectRef,
  type Stored,
} from "../object.ts";
import { controllerOf } from "../owner.ts";
import type { Action } from "../queue/action.ts";
import { type Children, CONTROLLER_INDEX } from "./children.ts";
import { anyChange, type Predicate, specOrMetadataChanged } from "./predicates.ts";

/**
 * The context of a reconcile. Everything in it is shared between runs, except the log. It is also the fence:
 * every request that a run does not send through `client` must call `assertLeading` when it is sent, and must
 * respect `signal`.
 */
export interface RunContext extends Fence {
  /** Rejects writes once this process is not the leader; writes appear in the caches immediately. */
  readonly client: Client;
  /** The same API server, which validates writes and responds, but does not persist them. */
  readonly dryRun: Client;
  readonly caches: Caches;
  readonly children: Children;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Contains the controller, the object and the ID of this run. */
  readonly log: Logger;
  /** The objects of a kind that this controller's objects refer to; see `refersTo`. */
  referenced<T extends KubeObject>(kind: Kind<T>): Pick<References<T>, "get">;
  /**
   * Runs the object again if one of these objects changes or is deleted, until the next call replaces the
   * list. For undeclared objects, such as an object of another owner that has the name of a child.
   */
  follow(objects: readonly Followed[]): void;
}

/** An object that a run waits for. */
export interface Followed {
  readonly kind: Kind;
  readonly ref: ObjectRef;
}

/**
 * Brings the object named by `key` to its desired state. It receives only the key, so that it can't depend on
 * the event. If it throws, the run is retried with backoff.
 */
export type Reconcile = (key: ObjectKey, context: RunContext) => Promise<Action>;

/** One watched kind and the keys to run when an object of it changes. */
export interface Source<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly cache: CacheOptions<T> | undefined;
  readonly when: Predicate<T>;
  /** How long a change may wait for further ones. */
  readonly settleMs?: number;
  readonly keysOf: (change: Change<T>, caches: Caches) => readonly ObjectKey[];
}

/** The first status of an object, before any other work is started: see `ControllerBuilder.accepts`. */
interface Acceptance {
  readonly isNew: (object: Stored<KubeObject>) => boolean;
  readonly accept: (object: Stored<KubeObject>, context: RunContext) => Promise<unknown>;
}

/** Limits for the runs of a controller. */
export interface RunLimits {
  /** Number of concurrent runs; defaults to the manager's. */
  readonly concurrency?: number;
  /**
   * The timeout of one run. After it, the context's `signal` is aborted and writes are rejected; the run
   * fails when the reconcile throws, and is retried with backoff. Absent means no timeout.
   */
  readonly timeoutMs?: number;
  /** The backoff of a failed key; defaults to 200 ms up to five minutes. */
  readonly backoff?: BackoffPolicy;
}

interface Referral {
  readonly kind: Kind;
  readonly refsOf: (object: Stored<KubeObject>, caches: Caches) => readonly ObjectRef[];
}

/** A controller as data: what it watches and what it does. A manager runs it. */
export interface Controller {
  readonly name: string;
  readonly kind: Kind;
  readonly sources: readonly Source[];
  readonly referrals: readonly Referral[];
  readonly acceptance: Acceptance | undefined;
  readonly limits: RunLimits;
  readonly reconcile: Reconcile;
}

interface SourceOptions<T extends KubeObject> extends CacheOptions<T> {
  /**
   * Which changes cause a run; by default, changes that a user can make for the object itself, and any change
   * for other kinds. If the predicate throws, the change causes a run.
   */
  readonly when?: Predicate<T>;
}

interface WatchedOptions<T extends KubeObject> extends SourceOptions<T> {
  /**
   * How long a change waits for further ones, so that one run handles all of them; a run for another reason
   * does not wait. For kinds that change in bursts, such as pods. Defaults to 0.
   */
  readonly settleMs?: number;
}

/** Starts the definition of a controller: `controller("x").for(Kind).owns([...]).reconcile(...)`. */
export function controller(name: string) {
  return {
    /** The kind whose objects are reconciled, each under its own key. */
    for: <T extends KubeObject>(kind: Kind<T>, options: SourceOptions<T> = {}) =>
      new ControllerBuilder<T>(name, kind, options),
  };
}

class ControllerBuilder<T extends KubeObject> {
  #controller: Omit<Controller, "reconcile">;

  constructor(name: string, kind: Kind<T>, { when = specOrMetadataChanged, ...cache }: SourceOptions<T>) {
    this.#controller = { name, kind, sources: [], referrals: [], acceptance: undefined, limits: {} };
    this.#add({ kind, cache, when: byOthers(when), keysOf: ({ object }) => [keyOfObject(object)] });
  }

  /**
   * Kinds of children: a change of a child runs the object that controls it. A run's own writes do not cause
   * another run.
   */
  owns(kinds: readonly Kind[], { when = anyChange, ...cache }: SourceOptions<KubeObject> = {}): this {
    const indexes = { ...cache.indexes, [CONTROLLER_INDEX]: controllerUid };
    const keysOf = (change: Change<KubeObject>) => this.#ownerKeys(change);
    for (const kind of kinds) this.#add({ kind, cache: { ...cache, indexes }, when: byOthers(when), keysOf });
    return this;
  }

  /**
   * Another kind: `keysOf` returns the keys of the objects to run for the previous and the new state of a
   * changed object.
   */
  watches<W extends KubeObject>(
    kind: Kind<W>,
    keysOf: (object: Stored<W>, caches: Caches) => readonly ObjectKey[],
    options?: WatchedOptions<W>,
  ): this {
    const { when = anyChange, settleMs = 0, ...cache } = options ?? {};
    const keysBeforeAndAfter = (change: Change<W>, caches: Caches) => {
      const keys = keysOf(change.object, caches);
      return change.previous ? [...keys, ...keysOf(change.previous, caches)] : keys;
    };
    // Without options, reuse the existing cache.
    return this.#add({ kind, cache: options && cache, when, settleMs, keysOf: keysBeforeAndAfter });
  }

  /**
   * Objects that ours refer to by name, such as Secrets: only those are watched, and a change runs the
   * holder. `refsOf` is called before every run, so the names may also depend on kinds declared by `watches`.
   */
  refersTo<R extends KubeObject>(
    kind: Kind<R>,
    refsOf: (object: Stored<T>, caches: Caches) => readonly ObjectRef[],
  ): this {
    const referral = { kind, refsOf: refsOf as Referral["refsOf"] };
    return this.#with({ referrals: [...this.#controller.referrals, referral] });
  }

  /**
   * What to do with a new object before any other work is done or started: report in its status that it was
   * seen. It must be fast, and must make the object no longer new.
   */
  accepts(
    isNew: (object: Stored<T>) => boolean,
    accept: (object: Stored<T>, context: RunContext) => Promise<unknown>,
  ): this {
    return this.#with({ acceptance: { isNew, accept } as Acceptance });
  }

  /** Limits of this controller, instead of the manager's. */
  limits(limits: RunLimits): this {
    return this.#with({ limits });
  }

  reconcile(reconcile: Reconcile): Controller {
    return { ...this.#controller, reconcile };
  }

  #add<W extends KubeObject>(source: Source<W>): this {
    return this.#with({ sources: [...this.#controller.sources, source as unknown as Source] });
  }

  #with(part: Partial<Controller>): this {
    this.#controller = { ...this.#controller, ...part };
    return this;
  }

  #ownerKeys({ object, previous }: Change<KubeObject>): ObjectKey[] {
    const { kind } = this.#controller;
    return [object, previous].flatMap((child) => {
      const owner = child && controllerOf(child);
      const isOurs = owner?.kind === kind.kind && groupOf(owner) === groupOf(kind);
      // A namespaced object owns children in its own namespace; a cluster-scoped one owns children anywhere.
      const namespace = kind.namespaced ? child?.metadata.namespace : undefined;
      return isOurs ? [keyOf({ namespace, name: owner.name })] : [];
    });
  }
}

/** A run's own writes do not cause another run. */
function byOthers<T extends KubeObject>(when: Predicate<T>): Predicate<T> {
  return (change) => !change.ownWrite && when(change);
}

function controllerUid(child: Stored<KubeObject>): string[] {
  const uid = controllerOf(child)?.uid;
  return uid ? [uid] : [];
}
