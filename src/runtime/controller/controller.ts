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
import type { Action } from "./action.ts";
import { type Children, CONTROLLER_INDEX } from "./children.ts";
import { type Predicate, specOrMetadataChanged } from "./predicates.ts";

/**
 * What a reconcile works with. Everything in it is shared between runs, except the log. It is the fence too:
 * whatever a run sends by other ways than `client` must ask `assertLeading` as it leaves, and end by `signal`.
 */
export interface RunContext extends Fence {
  /** Writes are refused once this process is not the leader, and show in the caches at once. */
  readonly client: Client;
  readonly caches: Caches;
  readonly children: Children;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Carries the controller, the object and an id of this run. */
  readonly log: Logger;
  /** The objects of a kind that this controller's objects refer to; see `refersTo`. */
  referenced<T extends KubeObject>(kind: Kind<T>): References<T>;
}

/**
 * Brings the object named by `key` to its desired state. The key is all it gets: it must not depend on
 * what caused the run. It throws to be tried again with backoff.
 */
export type Reconcile = (key: ObjectKey, context: RunContext) => Promise<Action>;

/** One watched kind and the keys to run when an object of it changes. */
export interface Source {
  readonly kind: Kind;
  readonly cache: CacheOptions<KubeObject> | undefined;
  readonly keysOf: (change: Change<KubeObject>, caches: Caches) => readonly ObjectKey[];
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
  readonly reconcile: Reconcile;
}

interface ForOptions<T extends KubeObject> extends CacheOptions<T> {
  /** Which changes of the object itself cause a run; what a user may have changed, by default. */
  readonly when?: Predicate<T>;
}

/** Starts the definition of a controller: `controller("x").for(Kind).owns([...]).reconcile(...)`. */
export function controller(name: string) {
  return {
    /** The kind whose objects are reconciled, each under its own key. */
    for: <T extends KubeObject>(kind: Kind<T>, options: ForOptions<T> = {}) =>
      new ControllerBuilder<T>(name, kind, options),
  };
}

class ControllerBuilder<T extends KubeObject> {
  readonly #name: string;
  readonly #kind: Kind<T>;
  readonly #sources: Source[] = [];
  readonly #referrals: Referral[] = [];

  constructor(name: string, kind: Kind<T>, { when = specOrMetadataChanged, ...cache }: ForOptions<T>) {
    this.#name = name;
    this.#kind = kind;
    this.#add(kind, cache, (change) =>
      !change.ownWrite && when(change) ? [keyOfObject(change.object)] : [],
    );
  }

  /**
   * Kinds of children: a change of one that an object of ours controls runs that object. The run that
   * wrote a child does not cause another.
   */
  owns(kinds: readonly Kind[], cache?: CacheOptions<KubeObject>): this {
    const indexes = { ...cache?.indexes, [CONTROLLER_INDEX]: controllerUid };
    for (const kind of kinds) {
      this.#add(kind, { ...cache, indexes }, (change) => (change.ownWrite ? [] : this.#ownerKeys(change)));
    }
    return this;
  }

  /** Another kind: `keysOf` names the objects of ours to run when one of it changes, before and after. */
  watches<W extends KubeObject>(
    kind: Kind<W>,
    keysOf: (object: Stored<W>, caches: Caches) => readonly ObjectKey[],
    cache?: CacheOptions<W>,
  ): this {
    this.#add(kind, cache, (change, caches) => {
      const keys = keysOf(change.object, caches);
      return change.previous ? [...keys, ...keysOf(change.previous, caches)] : [...keys];
    });
    return this;
  }

  /**
   * Objects that ours refer to by name, such as Secrets: only those are watched, and a change runs the holder.
   * `refsOf` is asked anew before every run, so the names may also come from what `watches` told of.
   */
  refersTo<R extends KubeObject>(
    kind: Kind<R>,
    refsOf: (object: Stored<T>, caches: Caches) => readonly ObjectRef[],
  ): this {
    this.#referrals.push({ kind, refsOf: refsOf as Referral["refsOf"] });
    return this;
  }

  reconcile(reconcile: Reconcile): Controller {
    return {
      name: this.#name,
      kind: this.#kind,
      sources: this.#sources,
      referrals: this.#referrals,
      reconcile,
    };
  }

  #add<W extends KubeObject>(
    kind: Kind<W>,
    cache: CacheOptions<W> | undefined,
    keysOf: (change: Change<W>, caches: Caches) => ObjectKey[],
  ): void {
    this.#sources.push({ kind, cache, keysOf } as unknown as Source);
  }

  #ownerKeys({ object, previous }: Change<KubeObject>): ObjectKey[] {
    return [object, previous].flatMap((child) => {
      const owner = child && controllerOf(child);
      const isOurs = owner?.kind === this.#kind.kind && groupOf(owner) === groupOf(this.#kind);
      return isOurs ? [keyOf({ namespace: child?.metadata.namespace, name: owner.name })] : [];
    });
  }
}

function controllerUid(child: Stored<KubeObject>): string[] {
  const uid = controllerOf(child)?.uid;
  return uid ? [uid] : [];
}
