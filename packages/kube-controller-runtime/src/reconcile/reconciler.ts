import { findSame } from "../client/find.ts";
import type { Clock } from "../clock.ts";
import { READY } from "../conditions.ts";
import type { Children } from "../controller/children.ts";
import type { Reconcile, RunContext } from "../controller/controller.ts";
import { finalizer } from "../controller/finalizer.ts";
import { type WithConditions, type WithStatus, writeCondition } from "../controller/status.ts";
import type { Steps } from "../controller/steps.ts";
import type { Logger } from "../log.ts";
import type { Kind, ObjectKey, Stored } from "../object.ts";
import { type Action, awaitChange } from "../queue/action.ts";
import { explain } from "./explain.ts";
import { type CommonStatus, finish, type StartMemory } from "./finish.ts";
import { OwnObject } from "./own-object.ts";
import { endPause, isPausedBy, reportPause } from "./pause.ts";

/**
 * What the steps of a run work with, beside the snapshot. There is nothing in it to read the cluster with: `observe`
 * has done that.
 */
export interface Environment<T extends WithStatus<S>, S extends object, M, P> {
  readonly own: OwnObject<T, S>;
  readonly children: Children;
  readonly clock: Clock;
  readonly log: Logger;
  /** The operator's ways to the world beside Kubernetes. */
  readonly ports: P;
  /** What is remembered of the object between runs, so that a run with nothing to do asks nobody. */
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
  /** The annotation by which a person pauses an object: nothing is done for it until it is resumed or deleted. */
  readonly pausedBy: string;
  /** The annotation by whose change a person has everything looked at anew, without any wait after a failure. */
  readonly requestedBy: string;
  /** The memory of an object that nothing is known of. */
  readonly newMemory: (ports: P) => M;
  /** Whether an object has anything outside of it that has to be cleaned up. */
  readonly needsCleanup: (object: Stored<T>) => boolean;
  /** All reads of a run, the time included. */
  readonly observe: (object: Stored<T>, context: RunContext, memory: M) => Promise<O>;
  readonly converge: (snapshot: O, environment: Environment<T, S, M, P>) => Promise<Steps<S>>;
  /**
   * Since when what contains the object is being deleted, if it is. The object then counts as being deleted from that time
   * on: it is cleaned up after and not applied any more.
   */
  readonly endsSince?: (
    object: Stored<T>,
    caches: RunContext["caches"],
  ) => Stored<T>["metadata"]["deletionTimestamp"];
  /** Reasons that are part of a normal life: no event is emitted for them. */
  readonly quiet: ReadonlySet<string>;
  /** Gets the object as the API server has it. An action means that a deletion has to wait. */
  readonly cleanup: (
    snapshot: O,
    environment: Environment<T, S, M, P>,
  ) => Promise<Action | undefined> | Promise<void>;
}

/**
 * The frame of every reconcile: finds the object, what is remembered of it, whether it lives and whether it is paused;
 * observes it, lets it converge and writes its status, or cleans up after it.
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
    const { deletionTimestamp = reconciliation.endsSince?.(object, caches), ...metadata } = object.metadata;
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
        // What others have is not in the caches: that they give it away or remove it shows only here.
        context.follow(steps.conflicts);
        const run = { kind, object: around.own.latest, now: snapshot.now, quiet };
        return finish(steps, run, { context, memory });
      },
      cleanup: async (cached) => {
        // The cache may not know yet of what was made outside a moment ago.
        const current = withEnd((await findSame(client, kind, cached)) ?? cached, context);
        return (await cleanup(await observe(current, context, memory), environment(current))) ?? undefined;
      },
      reportFailure: (current, error) => reportFailedCleanup({ kind, object: current, error }, context),
    });
  };
}

/** Says in `Ready` why an object that was deleted is still there. */
export async function reportFailedCleanup<T extends WithStatus<WithConditions>>(
  { error, ...subject }: { readonly kind: Kind<T>; readonly object: Stored<T>; readonly error: unknown },
  { client, clock }: Pick<RunContext, "client" | "clock">,
): Promise<void> {
  await writeCondition(client, subject, {
    type: READY,
    status: "False",
    reason: "CleanupFailed",
    message: `The object is deleted once everything that the operator made elsewhere for it is removed. ${explain(error).message}`,
    observedGeneration: subject.object.metadata.generation,
    now: clock.now(),
  });
}

/** Clocks are corrected by less than this all the time. */
const CORRECTION_MS = 1_000;

/**
 * What the operator remembers of the objects of one kind between runs, so that a run with nothing to do asks
 * nobody. Losing it costs a few questions, never correctness. An object of another identity, such as one
 * that was deleted and made anew, starts with an empty one. Memories say when things happened, so all are lost when the clock was set back: what happened a
 * moment ago would lie ahead, and a wait that counts from then would take that much longer.
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
