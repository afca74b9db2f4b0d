import { findSame } from "../client/find.ts";
import type { Clock } from "../clock.ts";
import { READY } from "../conditions.ts";
import type { Children } from "../controller/children.ts";
import type { Reconcile, RunContext } from "../controller/controller.ts";
import { finalizer } from "../controller/finalizer.ts";
import { type WithConditions, type WithStatus, writeCondition } from "../controller/status.ts";
import type { Steps } from "../controller/steps.ts";
import type { Logger } from "../log.ts";
import type { Kind, KubeObject, ObjectKey, Stored } from "../object.ts";
import { type Action, awaitChange } from "../queue/action.ts";
import { explain } from "./explain.ts";
import { type CommonStatus, finish, type StartMemory } from "./finish.ts";
import { OwnObject } from "./own-object.ts";
import { endPause, isPausedBy, reportPause } from "./pause.ts";

/**
 * The environment of the steps of a run, in addition to the snapshot. It can't read the cluster: `observe`
 * has done that.
 */
export interface Environment<T extends WithStatus<S>, S extends object, M, P> {
  readonly own: OwnObject<T, S>;
  readonly children: Children;
  readonly clock: Clock;
  readonly log: Logger;
  /** Access to systems other than Kubernetes. */
  readonly ports: P;
  /** The state kept between runs, so that a run with nothing to do makes no requests. */
  readonly memory: M;
}

export interface Reconciliation<
  T extends WithStatus<S>,
  S extends CommonStatus,
  O,
  M extends StartMemory,
  P,
> {
  readonly kind: Kind<T>;
  readonly finalizer: string;
  /** The annotation that pauses an object: nothing is done for it until it is resumed or deleted. */
  readonly pausedBy: string;
  /** The annotation that triggers a full reconcile without any backoff when its value changes. */
  readonly requestedBy: string;
  /** The initial memory of an object. */
  readonly newMemory: (ports: P) => M;
  /** Whether an object has anything external that must be cleaned up. */
  readonly needsCleanup: (object: Stored<T>) => boolean;
  /** Reads everything for a run, including the time. */
  readonly observe: (object: Stored<T>, context: RunContext, memory: M) => Promise<O>;
  readonly converge: (snapshot: O, environment: Environment<T, S, M, P>) => Promise<Steps<S>>;
  /**
   * Since when the container of the object, such as its namespace, is being deleted, if it is. From then on,
   * the object is treated as being deleted: it is cleaned up and no longer applied.
   */
  readonly terminatingSince?: (
    object: Stored<T>,
    caches: RunContext["caches"],
  ) => Stored<KubeObject>["metadata"]["deletionTimestamp"];
  /** Reasons that are part of normal operation: no event is emitted for them. */
  readonly quiet: ReadonlySet<string>;
  /** Receives the object from the API server. An action means that the deletion has to wait. */
  readonly cleanup: (
    snapshot: O,
    environment: Environment<T, S, M, P>,
  ) => Promise<Action | undefined> | Promise<void>;
}

/**
 * The frame of every reconcile: finds the object and its memory, checks for deletion and pausing; observes
 * it, runs the steps and writes its status, or cleans up.
 */
export function reconciler<
  T extends WithStatus<S>,
  S extends CommonStatus,
  O extends { readonly now: number },
  M extends StartMemory,
  P,
>(reconciliation: Reconciliation<T, S, O, M, P>, ports: P): Reconcile {
  const { kind, finalizer: name, pausedBy, needsCleanup, observe, converge, cleanup, quiet } = reconciliation;
  const withEnd = (object: Stored<T>, { caches }: RunContext): Stored<T> => {
    const { deletionTimestamp = reconciliation.terminatingSince?.(object, caches), ...metadata } =
      object.metadata;
    return deletionTimestamp === undefined
      ? object
      : { ...object, metadata: { ...metadata, deletionTimestamp } };
  };
  const memories = new Memories<M>(() => reconciliation.newMemory(ports));
  return async (key, context) => {
    const cached = context.caches.of(kind).get(key);
    if (!cached) {
      memories.forget(key);
      return awaitChange;
    }
    const found = withEnd(cached, context);
    const lives = found.metadata.deletionTimestamp === undefined;
    if (lives && isPausedBy(pausedBy, found)) return reportPause(pausedBy, { kind, object: found }, context);
    const object = lives ? await endPause({ kind, object: found }, context) : found;
    const { uid, annotations } = object.metadata;
    const request = annotations?.[reconciliation.requestedBy] ?? "";
    const memory = memories.of(key, `${uid} ${request}`, context.clock.now());
    const { children, clock, client, log } = context;
    const environment = (current: Stored<T>): Environment<T, S, M, P> => {
      const own = new OwnObject<T, S>(context, kind, current);
      return { own, children, clock, log, ports, memory };
    };
    return finalizer(client, name, {
      kind,
      object,
      wanted: needsCleanup(object),
      apply: async (current) => {
        const around = environment(current);
        const snapshot = await observe(current, context, memory);
        const steps = await converge(snapshot, around);
        // Objects of other owners are not in the caches: following them shows when they are handed over or
        // removed.
        context.follow(steps.conflicts);
        const run = { kind, object: around.own.latest, now: snapshot.now, quiet };
        return finish(steps, run, { context, memory });
      },
      cleanup: async (cached) => {
        // The cache may not show recently created external resources yet.
        const current = withEnd((await findSame(client, kind, cached)) ?? cached, context);
        return (await cleanup(await observe(current, context, memory), environment(current))) ?? undefined;
      },
      reportFailure: (current, error) => reportFailedCleanup({ kind, object: current, error }, context),
    });
  };
}

/** Reports in `Ready` why a deleted object still exists. */
export async function reportFailedCleanup<T extends WithStatus<WithConditions>>(
  { error, ...subject }: { readonly kind: Kind<T>; readonly object: Stored<T>; readonly error: unknown },
  { client, clock }: Pick<RunContext, "client" | "clock">,
): Promise<void> {
  await writeCondition(client, subject, {
    type: READY,
    status: "False",
    reason: "CleanupFailed",
    message: `The object will be deleted after its cleanup. ${explain(error).message}`,
    observedGeneration: subject.object.metadata.generation,
    now: clock.now(),
  });
}

/** Clock corrections below this are normal. */
const CORRECTION_MS = 1_000;

/**
 * The state of the objects of one kind between runs, so that a run with nothing to do makes no requests.
 * Losing it costs a few requests, never correctness. An object with a new UID starts with an empty memory.
 * Memories contain times, so all are dropped if the clock was set back: recent times would be in the future,
 * and waits that are based on them would be too long.
 */
export class Memories<M extends object> {
  readonly #byKey = new Map<ObjectKey, { readonly identity: string; readonly memory: M }>();
  readonly #create: () => M;
  #now = Number.NEGATIVE_INFINITY;

  constructor(create: () => M) {
    this.#create = create;
  }

  of(key: ObjectKey, identity: string, now: number): M {
    if (now < this.#now - CORRECTION_MS) this.#byKey.clear();
    this.#now = now;
    const present = this.#byKey.get(key);
    if (present?.identity === identity) return present.memory;
    const memory = this.#create();
    this.#byKey.set(key, { identity, memory });
    return memory;
  }

  forget(key: ObjectKey): void {
    this.#byKey.delete(key);
  }
}
