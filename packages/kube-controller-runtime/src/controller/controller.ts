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
 * What a reconcile works with. Everything in it is shared between runs, except the log. It is the fence too:
 * everything that a run sends by other ways than `client` must ask `assertLeading` as it leaves, and end by `signal`.
 */
export interface RunContext extends Fence {
  /** Writes are refused once this process is not the leader, and show in the caches at once. */
  readonly client: Client;
  /** The same API server, which checks and answers writes but does not store them: what would happen. */
  readonly dryRun: Client;
  readonly caches: Caches;
  readonly children: Children;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Carries the controller, the object and an id of this run. */
  readonly log: Logger;
  /** The objects of a kind that this controller's objects refer to; see `refersTo`. */
  referenced<T extends KubeObject>(kind: Kind<T>): Pick<References<T>, "get">;
  /**
   * Runs the object again when one of these changes or is deleted, until the next call names others. For objects that
   * nothing declares, such as those of others that have the name of a child.
   */
  follow(objects: readonly Followed[]): void;
}

/** An object that a run waits for. */
export interface Followed {
  readonly kind: Kind;
  readonly ref: ObjectRef;
}

/**
 * Brings the object named by `key` to its desired state. The key is all it gets: it must not depend on
 * what caused the run. It throws to be tried again with backoff.
 */
export type Reconcile = (key: ObjectKey, context: RunContext) => Promise<Action>;

/** One watched kind and the keys to run when an object of it changes. */
export interface Source<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly cache: CacheOptions<T> | undefined;
  readonly when: Predicate<T>;
  readonly keysOf: (change: Change<T>, caches: Caches) => readonly ObjectKey[];
}

/** The first look at an object, before any work is started: see `ControllerBuilder.accepts`. */
interface Acceptance {
  readonly isNew: (object: Stored<KubeObject>) => boolean;
  readonly accept: (object: Stored<KubeObject>, context: RunContext) => Promise<unknown>;
}

/** How much a controller may do at once, and for how long. */
export interface RunLimits {
  /** Runs at the same time; what the manager says when absent. */
  readonly concurrency?: number;
  /**
   * The time of one run. When it is up, `signal` of the run's context is aborted and its writes are refused; the run has
   * failed as soon as the reconcile throws, and is tried again with backoff. None when absent.
   */
  readonly timeoutMs?: number;
  /** How long a failed key waits; from 200 ms to five minutes when absent. */
  readonly backoff?: BackoffPolicy;
}

interface Referral {
  readonly kind: Kind;
  readonly refsOf: (object: Stored<KubeObject>, caches: Caches) => readonly ObjectRef[];
}

/** A controller as data: what it watches and what it does. A manager makes it run. */
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
   * Which changes cause a run: of the object itself what a user may have changed, of others any, by default. A
   * change for which it throws causes one.
   */
  readonly when?: Predicate<T>;
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
   * Kinds of children: a change of one that an object of ours controls runs that object. The run that
   * wrote a child does not cause another.
   */
  owns(kinds: readonly Kind[], { when = anyChange, ...cache }: SourceOptions<KubeObject> = {}): this {
    const indexes = { ...cache.indexes, [CONTROLLER_INDEX]: controllerUid };
    const keysOf = (change: Change<KubeObject>) => this.#ownerKeys(change);
    for (const kind of kinds) this.#add({ kind, cache: { ...cache, indexes }, when: byOthers(when), keysOf });
    return this;
  }

  /** Another kind: `keysOf` names the objects of ours to run when one of it changes, before and after. */
  watches<W extends KubeObject>(
    kind: Kind<W>,
    keysOf: (object: Stored<W>, caches: Caches) => readonly ObjectKey[],
    options?: SourceOptions<W>,
  ): this {
    const { when = anyChange, ...cache } = options ?? {};
    const keysBeforeAndAfter = (change: Change<W>, caches: Caches) => {
      const keys = keysOf(change.object, caches);
      return change.previous ? [...keys, ...keysOf(change.previous, caches)] : keys;
    };
    // Who names no options takes the cache that others ask for.
    return this.#add({ kind, cache: options && cache, when, keysOf: keysBeforeAndAfter });
  }

  /**
   * Objects that ours refer to by name, such as Secrets: only those are watched, and a change runs the holder.
   * `refsOf` is asked anew before every run, so the names may also come from what `watches` reports.
   */
  refersTo<R extends KubeObject>(
    kind: Kind<R>,
    refsOf: (object: Stored<T>, caches: Caches) => readonly ObjectRef[],
  ): this {
    const referral = { kind, refsOf: refsOf as Referral["refsOf"] };
    return this.#with({ referrals: [...this.#controller.referrals, referral] });
  }

  /**
   * What to do with an object that is new, before anything else is done for it or started for another: say in
   * its status that it was seen. It must be quick, and afterwards the object must not be new any more.
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
      // A namespaced object is owned from within its namespace; one without owns children anywhere.
      const namespace = kind.namespaced ? child?.metadata.namespace : undefined;
      return isOurs ? [keyOf({ namespace, name: owner.name })] : [];
    });
  }
}

/** A run does not cause another by what it writes. */
function byOthers<T extends KubeObject>(when: Predicate<T>): Predicate<T> {
  return (change) => !change.ownWrite && when(change);
}

function controllerUid(child: Stored<KubeObject>): string[] {
  const uid = controllerOf(child)?.uid;
  return uid ? [uid] : [];
}
