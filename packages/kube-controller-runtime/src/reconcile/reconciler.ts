import { type Action, awaitChange } from "../controller/action.ts";
import type { Reconcile, RunContext } from "../controller/controller.ts";
import { finalizer } from "../controller/finalizer.ts";
import type { Kind, KubeObject, Stored } from "../object.ts";
import { reportFailedCleanup } from "./failed-cleanup.ts";
import { Memories } from "./memories.ts";
import { endPause, isPausedBy, reportPause } from "./pause.ts";

/** What the steps of a run work with, beside the snapshot. */
export interface Environment<M extends object, P> {
  readonly context: RunContext;
  /** The operator's ways to the world beside Kubernetes. */
  readonly ports: P;
  readonly memory: Partial<M>;
}

export interface Reconciliation<T extends KubeObject, S, M extends object, P> {
  readonly kind: Kind<T>;
  readonly finalizer: string;
  /** The annotation by which a person pauses an object: nothing is done for it until it is resumed or deleted. */
  readonly pausedBy: string;
  /** The annotation by whose change a person has everything looked at anew, without any wait after a failure. */
  readonly requestedBy: string;
  /** Whether an object has anything outside of it that has to be cleaned up. */
  readonly needsCleanup: (object: Stored<T>) => boolean;
  readonly observe: (object: Stored<T>, context: RunContext) => S;
  readonly converge: (snapshot: S, environment: Environment<M, P>) => Promise<Action>;
  /** An action means that a deletion has to wait. */
  readonly cleanup: (
    snapshot: S,
    environment: Environment<M, P>,
  ) => Promise<Action | undefined> | Promise<void>;
}

/**
 * The frame of every reconcile: finds the object, what is remembered of it, whether it lives and whether it is
 * paused; observes it and lets it converge, or cleans up after it.
 */
export function reconciler<T extends KubeObject, S, M extends object, P>(
  reconciliation: Reconciliation<T, S, M, P>,
  ports: P,
): Reconcile {
  const { kind, finalizer: name, pausedBy, needsCleanup, observe, converge, cleanup } = reconciliation;
  const memories = new Memories<M>();
  return async (key, context) => {
    const found = context.caches.of(kind).get(key);
    if (!found) {
      memories.forget(key);
      return awaitChange;
    }
    const lives = found.metadata.deletionTimestamp === undefined;
    if (lives && isPausedBy(pausedBy, found)) return reportPause(pausedBy, { kind, object: found }, context);
    const object = lives ? await endPause({ kind, object: found }, context) : found;
    const { uid, annotations } = object.metadata;
    const request = annotations?.[reconciliation.requestedBy] ?? "";
    const memory = memories.of(key, `${uid} ${request}`, context.clock.now());
    const environment = { context, ports, memory };
    return finalizer(context.client, name, {
      kind,
      object,
      wanted: needsCleanup(object),
      apply: (current) => converge(observe(current, context), environment),
      cleanup: (current) => cleanup(observe(current, context), environment),
      reportFailure: (current, error) => reportFailedCleanup({ kind, object: current, error }, context),
    });
  };
}
